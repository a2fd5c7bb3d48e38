#include "harness/study/safety.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

bool safety_is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* By what the options say, not by the name. */
static bool is_plain(const struct safety_case *item)
{
	const struct transport *transport = item->transport;
	bool served = transport->needs && transport->needs[0];
	return transport->plain || option_is_plain(transport->options, item->options) ||
	       (served && item->cipher && strcmp(item->cipher, "none") == 0);
}

int safety_check(const struct safety_case *item, const struct safety_leave *leave,
		 struct error *err)
{
	const struct transport *transport = item->transport;
	/* That is no matter of the run's own address. */
	if (transport->caps & CAP_ANY_ADDRESS && !leave->open_listener)
		return error_set(
			err, ERROR_UNSUPPORTED, 0,
			"%s listens on all addresses of the machine and cannot be bound to "
			"one: --allow-open-listener, where you trust those networks",
			transport->name);
	if (safety_is_loopback(item->listening_host))
		return 0;
	if (transport->caps & CAP_OPEN_LISTENER && !leave->open_listener)
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "%s lets anyone in who connects to %s: --allow-open-listener, "
				 "where you trust that network",
				 transport->name, item->listening_host);
	if (item->users_own && is_plain(item) && !leave->plaintext)
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "%s would send your own data unencrypted to %s: "
				 "--allow-plaintext, where that is all right",
				 transport->name, item->listening_host);
	return 0;
}
