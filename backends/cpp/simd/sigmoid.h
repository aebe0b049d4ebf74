// needs: exp
template <class V> INLINE V m_sigmoid(V x) {
  PRAGMA_POLY(sigmoid, x) {
    V e = m_exp(-m_abs(x));  // at most 1: nothing overflows, and small results keep their digits
    V one = bc<V>(1), below = e + one;
    auto negative = lt(x, V{});
    V y = select(negative, e, one) / below;
    V lost = e - (below - one);  // what rounding took from 1 + e; 1 / (1 + e) is y or 1 - y
    return y - y * select(negative, one - y, y) * lost;
  }
}
