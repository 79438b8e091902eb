/* Option prices in double precision: exp, log, sqrt, erfc and division against the host's libm. */
#include "app.h"

struct Option {
  double spot, strike, years;
};

__host__ __device__ static double normal(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

__host__ __device__ static void price(const Option &option, double rate, double volatility, double *call, double *put) {
  double root = sqrt(option.years);
  double d1 = (log(option.spot / option.strike) + (rate + 0.5 * volatility * volatility) * option.years) / (volatility * root);
  double d2 = d1 - volatility * root;
  double discounted = option.strike * exp(-rate * option.years);
  *call = option.spot * normal(d1) - discounted * normal(d2);
  *put = discounted * normal(-d2) - option.spot * normal(-d1);
}

__global__ void prices(const Option *options, double *calls, double *puts, int count, double rate, double volatility) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) price(options[i], rate, volatility, &calls[i], &puts[i]);
}

int main() {
  const int count = 5000;
  const double rate = 0.02, volatility = 0.3;
  std::vector<Option> options(count);
  Random random(7);
  for (Option &option : options) {
    option.spot = 5 + 25 * (double)random.unit();
    option.strike = 1 + 99 * (double)random.unit();
    option.years = 0.25 + 9.75 * (double)random.unit();
  }
  Option *device_options = app_upload(options);
  double *calls = app_device<double>(count), *puts = app_device<double>(count);
  prices<<<(count + 127) / 128, 128>>>(device_options, calls, puts, count, rate, volatility);
  CHECK(hipDeviceSynchronize());
  std::vector<double> got_calls = app_download(calls, count), got_puts = app_download(puts, count);
  for (int i = 0; i < count; i++) {
    double call, put;
    price(options[i], rate, volatility, &call, &put);
    double scale = options[i].spot + options[i].strike;
    EXPECT(fabs(got_calls[i] - call) <= 1e-14 * scale, "call %d: %.17g, expected %.17g", i, got_calls[i], call);
    EXPECT(fabs(got_puts[i] - put) <= 1e-14 * scale, "put %d: %.17g, expected %.17g", i, got_puts[i], put);
  }
  return app_end();
}
