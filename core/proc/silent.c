/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/silent.h"
#include "core/base/backoff.h"
#include "core/proc/process.h"

static const struct ep_backoff backoff = {
	.first = EP_SILENT_FIRST_NS, .longest = EP_SILENT_LAST_NS, .percent = 200};

static bool is_same(const struct ep_silent *a, const struct ep_silent *b)
{
	return a->pid == b->pid && a->dev == b->dev &&
	       (!a->pid || ep_process_same_start(a->start_ns, b->start_ns));
}

static struct ep_silent_entry *find(struct ep_silents *silents, const struct ep_silent *who)
{
	for (size_t i = 0; i < EP_MIN(silents->n, (size_t)EP_MAX_SILENT); i++) {
		if (silents->entries[i].wait_ns && is_same(&silents->entries[i].who, who))
			return &silents->entries[i];
	}
	return NULL;
}

/* The reader was killed. It still exists only while it hangs in the kernel. */
static bool still_hangs(const struct ep_silent_entry *entry)
{
	struct ep_process_info info;

	return entry->reader && ep_process_read_stat(entry->reader, &info) == 0 &&
	       ep_process_same_start(info.start_ns, entry->reader_start_ns) && info.state != 'Z' &&
	       info.state != 'X';
}

enum ep_silent_answer ep_silents_ask(struct ep_silents *silents, const struct ep_silent *who, uint64_t now_ns)
{
	struct ep_silent_entry *entry = find(silents, who);

	if (!entry)
		return EP_SILENT_NOT;
	if (entry->is_tried || now_ns < entry->due_ns || still_hangs(entry))
		return EP_SILENT_YES;
	entry->is_tried = true;
	return EP_SILENT_TRY;
}

static struct ep_silent_entry *add(struct ep_silents *silents, const struct ep_silent *who)
{
	struct ep_silent_entry *entry = &silents->entries[silents->n++ % EP_MAX_SILENT];

	*entry = (struct ep_silent_entry){
		.who = *who, .wait_ns = silents->first_ns ? silents->first_ns : EP_SILENT_FIRST_NS};
	return entry;
}

/* Two threads may be late at the same device at once. The wait is doubled once, not twice. */
uint64_t ep_silents_add(struct ep_silents *silents, const struct ep_silent *who, bool is_try, pid_t reader,
			uint64_t reader_start_ns, uint64_t now_ns)
{
	struct ep_silent_entry *entry = find(silents, who);

	if (!entry)
		entry = add(silents, who);
	else if (is_try)
		entry->wait_ns = ep_backoff_after(backoff, entry->wait_ns);
	if (is_try)
		entry->is_tried = false;
	entry->reader = reader;
	entry->reader_start_ns = reader_start_ns;
	entry->due_ns = who->pid ? UINT64_MAX : now_ns + entry->wait_ns;
	return who->pid ? 0 : entry->wait_ns;
}

void ep_silents_tried(struct ep_silents *silents, const struct ep_silent *who, bool has_answered)
{
	struct ep_silent_entry *entry = find(silents, who);

	if (!entry)
		return;
	entry->is_tried = false;
	if (has_answered)
		entry->wait_ns = 0;
}
