/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/attachment.h"

#include <errno.h>

enum outcome {
	DONE,
	NOT_YET,
	UNKNOWN, /* a layout that is not known */
	LOST,	 /* no such process */
	FAILED,	 /* and it may pass */
};

struct rule {
	enum ep_attachment_call call;
	enum ep_attachment from;
	enum outcome outcome;
	struct ep_attachment_step to;
};

#define ATTACH	  EP_ATTACHMENT_ATTACH
#define REFRESH	  EP_ATTACHMENT_REFRESH
#define SYMBOLIZE EP_ATTACHMENT_SYMBOLIZE
#define REST	  EP_ATTACHMENT_REST
#define WAITING	  EP_ATTACHMENT_WAITING
#define ATTACHED  EP_ATTACHMENT_ATTACHED
#define DORMANT	  EP_ATTACHMENT_DORMANT
#define REFUSED	  EP_ATTACHMENT_REFUSED
#define GONE	  EP_ATTACHMENT_GONE
#define AGAIN	  EP_ATTACHMENT_AGAIN
#define DETACH	  EP_ATTACHMENT_DETACH
#define FORGET	  EP_ATTACHMENT_FORGET

/* What is not here leaves everything as it is. */
static const struct rule rules[] = {
	{ATTACH, WAITING, DONE, {ATTACHED, 0}},
	{ATTACH, WAITING, NOT_YET, {WAITING, AGAIN}},
	{ATTACH, WAITING, FAILED, {WAITING, AGAIN}},
	{ATTACH, WAITING, UNKNOWN, {REFUSED, FORGET}},
	{ATTACH, WAITING, LOST, {GONE, FORGET}},
	{ATTACH, DORMANT, DONE, {ATTACHED, 0}},
	{ATTACH, DORMANT, NOT_YET, {WAITING, AGAIN}},
	{ATTACH, DORMANT, FAILED, {WAITING, AGAIN}},
	{ATTACH, DORMANT, UNKNOWN, {REFUSED, FORGET}},
	{ATTACH, DORMANT, LOST, {GONE, FORGET}},
	{REFRESH, ATTACHED, NOT_YET, {ATTACHED, AGAIN}},
	{REFRESH, ATTACHED, FAILED, {ATTACHED, AGAIN}},
	{REFRESH, ATTACHED, UNKNOWN, {REFUSED, DETACH | FORGET}},
	{REFRESH, ATTACHED, LOST, {GONE, DETACH | FORGET}},
	{SYMBOLIZE, ATTACHED, NOT_YET, {ATTACHED, AGAIN}},
	{SYMBOLIZE, ATTACHED, LOST, {GONE, AGAIN}}, /* in its parent, say */
	{REST, ATTACHED, DONE, {DORMANT, DETACH}},
	{REST, GONE, DONE, {GONE, DETACH}},
};

/* A positive result that is none of attach's or refresh's counts as EP_NOT_YET. */
static enum outcome outcome_of(enum ep_attachment_call call, int result)
{
	if (result == 0)
		return DONE;
	if (result == -ENOTSUP)
		return UNKNOWN;
	if (result == -ESRCH)
		return LOST;
	return result == EP_NOT_YET || (result > 0 && call != SYMBOLIZE) ? NOT_YET : FAILED;
}

struct ep_attachment_step ep_attachment_after(enum ep_attachment state,
					      enum ep_attachment_call call, int result)
{
	enum outcome outcome = outcome_of(call, result);

	for (size_t i = 0; i < EP_LEN(rules); i++) {
		const struct rule *rule = &rules[i];

		if (rule->call == call && rule->from == state && rule->outcome == outcome)
			return rule->to;
	}
	return (struct ep_attachment_step){.state = state};
}

int ep_attachment_attach(const struct ep_unwinder_ops *ops, void *executable,
			 struct ep_target *target, void **ret_instance)
{
	void *instance = NULL;
	int r = ops->attach(executable, target, &instance);

	if (r == 0 && !instance)
		r = -ENOTSUP;
	*ret_instance = r == 0 ? instance : NULL;
	return r;
}
