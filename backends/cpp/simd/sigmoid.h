// needs: exp
template <class V> INLINE V m_sigmoid(V x) {
  PRAGMA_POLY(sigmoid, x) {
    V e = m_exp(-m_abs(x));  // at most 1: nothing overflows, and small results keep their digits
    return select(lt(x, V{}), e, bc<V>(1)) / (e + bc<V>(1));
  }
}
