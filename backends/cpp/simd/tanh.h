// needs: exp
template <class V> INLINE V m_tanh(V x) {
  PRAGMA_POLY(tanh, x) {
    V a = m_abs(x), z = x * x;
    V small = horner(z, -0.33333284f, 0.1333147f, -0.053741626f, 0.020644147f, -0.005709508f) * z * a + a;
    auto [r, n] = reduce_exp(at_most(a + a, 20));
    V large = bc<V>(1) - bc<V>(2) / (exp_of(r) * power_of_two<V>(n) + bc<V>(1));
    return copysign_v(select(lt(a, bc<V>(0.625f)), small, large), x);
  }
}
