// A loop that sleeps until each period begins, on one processor, and notes how late it wakes: what this machine does to a program
// that is never busy, with no runtime of any language in it. It ends with its standard input, and then prints "due late" lines, in
// nanoseconds of CLOCK_MONOTONIC.
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { most = 1 << 21 }; // more than an hour of 2 ms

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 2;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(atoi(argv[1]), &one);
	sched_setaffinity(0, sizeof one, &one); // where that is not allowed, it wakes anywhere
	int64_t period = atoll(argv[2]);
	int64_t(*seen)[2] = malloc(sizeof *seen * most);
	if (!seen)
		return 1;
	int n = 0;
	struct pollfd in = {.fd = 0, .events = POLLIN};
	for (int64_t due = now() + period; n < most && poll(&in, 1, 0) == 0; n++) {
		struct timespec t = {due / 1000000000, due % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		int64_t late = now() - due;
		seen[n][0] = due;
		seen[n][1] = late;
		due += period * (1 + late / period);
	}
	for (int i = 0; i < n; i++)
		printf("%lld %lld\n", (long long)seen[i][0], (long long)seen[i][1]);
	return 0;
}
