/* peer.c - SO_PEERCRED, and the owner of a TCP socket.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* As whom the kernel shows users that have no number in this user namespace. */
enum { unknown_user = 65534 };

static bool is_abstract(int socket)
{
	struct sockaddr_un address;
	socklen_t size = sizeof address;
	return getsockname(socket, (struct sockaddr *)&address, &size) == 0 && address.sun_family == AF_UNIX &&
	       size > offsetof(struct sockaddr_un, sun_path) && address.sun_path[0] == 0;
}

bool cairn_peer_is_allowed(int socket)
{
	if (!is_abstract(socket))
		return true;
	struct cairn_peer peer = cairn_peer_of(socket);
	return peer.user == 0 || peer.user == geteuid();
}

struct cairn_peer cairn_peer_of(int socket)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return (struct cairn_peer){0, (unsigned)-1};
	return (struct cairn_peer){peer.pid, peer.uid};
}

/* The two ends of a TCP connection over loopback. */
struct ends {
	int family;
	in_port_t ports[2];
	uint32_t addresses[2][4];
};

/* Takes one END. */
static bool take_end(struct ends *ends, int end, const struct sockaddr_storage *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;
	bool is_four = address->ss_family == AF_INET;
	ends->family = address->ss_family;
	ends->ports[end] = is_four ? four->sin_port : six->sin6_port;
	memcpy(ends->addresses[end], is_four ? (const void *)&four->sin_addr : &six->sin6_addr, is_four ? 4 : 16);
	return is_four ? ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
		       : address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static bool find_ends(struct ends *ends, int socket)
{
	struct sockaddr_storage own, other;
	socklen_t own_size = sizeof own, other_size = sizeof other;
	*ends = (struct ends){0};
	return getsockname(socket, (struct sockaddr *)&own, &own_size) == 0 && getpeername(socket, (struct sockaddr *)&other, &other_size) == 0 &&
	       take_end(ends, 0, &own) && take_end(ends, 1, &other);
}

/* Asks the kernel for the socket at the other end. */
static bool ask_owner(int netlink, const struct ends *ends, unsigned *user)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} question = {.header = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		      .request = {.sdiag_family = (uint8_t)ends->family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u}};
	struct inet_diag_sockid *id = &question.request.id;
	id->idiag_sport = ends->ports[1];
	id->idiag_dport = ends->ports[0];
	memcpy(id->idiag_src, ends->addresses[1], sizeof id->idiag_src);
	memcpy(id->idiag_dst, ends->addresses[0], sizeof id->idiag_dst);
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	union {
		struct nlmsghdr header;
		char room[1024];
	} answer;
	if (send(netlink, &question, sizeof question, MSG_DONTWAIT) != sizeof question)
		return false;
	ssize_t got = recv(netlink, &answer, sizeof answer, MSG_DONTWAIT); /* it answers within send */
	if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	*user = ((const struct inet_diag_msg *)NLMSG_DATA(&answer.header))->idiag_uid;
	return true;
}

bool cairn_peer_is_own_user(int connected)
{
	struct ends ends;
	unsigned user = unknown_user;
	int netlink = find_ends(&ends, connected) ? socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG) : -1;
	bool known = netlink >= 0 && ask_owner(netlink, &ends, &user);
	if (netlink >= 0)
		close(netlink);
	return known && user == geteuid() && user != unknown_user;
}
