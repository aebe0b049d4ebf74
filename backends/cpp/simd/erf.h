// needs: exp2
template <class V> INLINE V m_erf(V x) {
  PRAGMA_POLY(erf, x) {
    V a = m_abs(x), z = x * x, b = at_most(a, 4);  // erf(4) is 1 to the last bit
    V small = horner(z, 0.12837917f, -0.37612635f, 0.11283694f, -0.02685927f, 0.0052006342f, -0.0008137439f, 8.345234e-05f) * a + a;
    V bits_of = b * horner(b, 1.6281486f, 0.91704816f, 0.15179463f, -0.03264088f, 0.004183473f, -5.5667195e-05f, -6.887512e-05f, 7.3801198e-06f);
    auto [value, n] = nearest(-bits_of);
    V large = bc<V>(1) - exp2_of(-bits_of - value) * power_of_two<V>(n);  // 1 - erfc
    return copysign_v(select(lt(a, bc<V>(0.92f)), small, large), x);
  }
}
