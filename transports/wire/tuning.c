#include "transports/wire/tuning.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "harness/base/text.h"

static bool is_cpu(const char *text, uint64_t *number)
{
	return text_to_u64(text, number) && *number < CPU_SETSIZE;
}

int tuning_check_cpu(const char *option, const char *value, struct error *err)
{
	uint64_t number;
	if (!value[0] || is_cpu(value, &number))
		return 0;
	return error_set(err, ERROR_CONFIG, 0, "%s = %.40s: a CPU's number is expected", option,
			 value);
}

int tuning_pin(const char *cpu, struct error *err)
{
	uint64_t number = 0;
	cpu_set_t set;
	if (!cpu[0])
		return 0;
	if (!is_cpu(cpu, &number))
		return error_set(err, ERROR_CONFIG, 0, "CPU %.40s: a CPU's number is expected",
				 cpu);
	CPU_ZERO(&set);
	CPU_SET(number, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		return 0;
	if (errno == EINVAL)
		return error_set(err, ERROR_UNSUPPORTED, errno, "CPU %s is not there", cpu);
	return error_system(err, "pin to CPU %s", cpu);
}

int tuning_pace(int fd, double bits_per_s, struct error *err)
{
	uint64_t bytes_per_s = (uint64_t)(bits_per_s / 8);
	if (bytes_per_s == 0)
		return 0;
	if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, sizeof(bytes_per_s)) < 0)
		return error_system(err, "set SO_MAX_PACING_RATE");
	return 0;
}
