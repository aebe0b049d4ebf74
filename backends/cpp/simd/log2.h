// needs: log
template <class V> INLINE V m_log2(V x) {
  PRAGMA_POLY(log2, x) {
    auto [f, e] = log_parts(x);
    V y = log_tail(f) - f * f * bc<V>(0.5f);
    const V extra = bc<V>(0.44269504f);  // log2(e) - 1
    return log_edges(x, (((y * extra + f * extra) + y) + f) + e);
  }
}
