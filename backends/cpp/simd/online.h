// needs: fold
// Two dependent reductions in one pass over memory: chunks that stay in the first-level cache, merged as they come.
constexpr int64_t CHUNK = 2048;

// The maximum and the sum of exp(term - maximum): the sum is rescaled whenever the maximum grows.
template <class V, int U, class F, class E> INLINE void peak_and_total(float& high, double& total, int64_t begin, int64_t end, F f, E exp_of) {
  for (int64_t c = begin; c < end; c += CHUNK) {
    const int64_t stop = c + CHUNK < end ? c + CHUNK : end;
    const float top = fold<Max, V, U>(-std::numeric_limits<float>::infinity(), c, stop, f);
    if (!(top <= high)) {
      total *= std::exp(double(high) - double(top));
      high = top;
    }
    if (high == -std::numeric_limits<float>::infinity()) continue;  // nothing but -inf so far
    total = fold<Sum, V, U>(total, c, stop, [&]<class T>(T tag, const int64_t i) -> T { return exp_of(T(f(tag, i) - bc<T>(high))); });
  }
}

// The count, the mean and the sum of squared deviations from the mean; chunks are merged by Chan's formula.
template <class V, int U, class F> INLINE void moments(double& count, double& mean, double& squares, int64_t begin, int64_t end, F f) {
  for (int64_t c = begin; c < end; c += CHUNK) {
    const int64_t stop = c + CHUNK < end ? c + CHUNK : end;
    const double n = double(stop - c), centre = fold<Sum, V, U>(0.0, c, stop, f) / n;
    const float near = float(centre);
    const double part = fold<Sum, V, U>(0.0, c, stop, [&]<class T>(T tag, const int64_t i) -> T {
      const T d = f(tag, i) - bc<T>(near);
      return d * d;
    });
    const double all = count + n, step = centre - mean;
    squares += part - n * (centre - near) * (centre - near) + step * step * count * n / all;
    mean += step * n / all;
    count = all;
  }
}
