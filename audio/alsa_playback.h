// Playback on ALSA without miniaudio, for what miniaudio does not show: taking back what waits in the card. libasound is looked
// up when it is first needed, so that conch builds without its headers and starts without it. One thread makes all calls.
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
	// fixed after open
	void *pcm;
	unsigned channels, period, buffer;
	unsigned piece; // silence is written in multiples of it
	int wide;  // samples of 32 bits
	int batch; // the driver copies ahead …
	unsigned ahead; // … so many frames, which it does not give back
	char name[80];
	void *frames; // of the card's own form; a buffer's worth
	int wake;     // an eventfd that ends a wait; -1: none

	// by the thread
	long avail, delay;
	unsigned long long hollow; // frames of silence since the last write from outside; after an underrun too

	// read by the thread, written by others
	unsigned resting, closing;
	// the other way round
	unsigned long long rested; // periods that were answered with silence
	unsigned long long xruns;  // how often the card had run dry
} conch_pcm;

#define CONCH_ALSA(F) \
	F(int, open, (void **, const char *, int, int)) \
	F(int, close, (void *)) \
	F(int, info, (void *, void *)) \
	F(int, info_malloc, (void **)) \
	F(void, info_free, (void *)) \
	F(const char *, info_get_name, (const void *)) \
	F(int, hw_params_malloc, (void **)) \
	F(void, hw_params_free, (void *)) \
	F(int, hw_params_any, (void *, void *)) \
	F(int, hw_params_set_access, (void *, void *, int)) \
	F(int, hw_params_set_format, (void *, void *, int)) \
	F(int, hw_params_set_rate_resample, (void *, void *, unsigned)) \
	F(int, hw_params_set_rate, (void *, void *, unsigned, int)) \
	F(int, hw_params_set_channels_near, (void *, void *, unsigned *)) \
	F(int, hw_params_set_period_size_near, (void *, void *, unsigned long *, int *)) \
	F(int, hw_params_set_buffer_size_near, (void *, void *, unsigned long *)) \
	F(int, hw_params, (void *, void *)) \
	F(int, hw_params_is_batch, (const void *)) \
	F(int, hw_params_get_period_size, (const void *, unsigned long *, int *)) \
	F(int, hw_params_get_buffer_size, (const void *, unsigned long *)) \
	F(int, sw_params_malloc, (void **)) \
	F(void, sw_params_free, (void *)) \
	F(int, sw_params_current, (void *, void *)) \
	F(int, sw_params_set_start_threshold, (void *, void *, unsigned long)) \
	F(int, sw_params_set_avail_min, (void *, void *, unsigned long)) \
	F(int, sw_params, (void *, void *)) \
	F(int, prepare, (void *)) \
	F(int, resume, (void *)) \
	F(int, start, (void *)) \
	F(int, drop, (void *)) \
	F(int, wait, (void *, int)) \
	F(int, poll_descriptors_count, (void *)) \
	F(int, poll_descriptors, (void *, struct pollfd *, unsigned)) \
	F(long, avail, (void *)) \
	F(int, delay, (void *, long *)) \
	F(long, rewindable, (void *)) \
	F(long, rewind, (void *, unsigned long)) \
	F(long, forward, (void *, unsigned long)) \
	F(long, writei, (void *, const void *, unsigned long))

#define CONCH_DECLARE(result, name, args) result (*name) args;
static struct { CONCH_ALSA(CONCH_DECLARE) } conch_alsa;

// conch_alsa_load finds libasound; callers take turns.
static int conch_alsa_load(void) {
	static int found;
	if (found) return 0;
	void *lib = dlopen("libasound.so.2", RTLD_NOW);
	if (!lib) return -ENOSYS;
#define CONCH_FIND(result, name, args) \
	if (!(conch_alsa.name = (result (*) args)dlsym(lib, "snd_pcm_" #name))) return -ENOSYS;
	CONCH_ALSA(CONCH_FIND)
	found = 1;
	return 0;
}

enum { CONCH_PLAYBACK = 0, CONCH_INTERLEAVED = 3, CONCH_S16 = 2, CONCH_S32 = 10, CONCH_WAIT_MS = 100 };

static int conch_pcm_params(conch_pcm *p, void *hw, unsigned rate, unsigned period, unsigned periods) {
	unsigned long size = period, buffer = (unsigned long)period * periods;
	int err, dir = 0;
	p->channels = 2;
	if ((err = conch_alsa.hw_params_any(p->pcm, hw)) < 0) return err;
	if ((err = conch_alsa.hw_params_set_access(p->pcm, hw, CONCH_INTERLEAVED)) < 0) return err;
	p->wide = 0;
	if (conch_alsa.hw_params_set_format(p->pcm, hw, CONCH_S16) < 0) {
		p->wide = 1;
		if ((err = conch_alsa.hw_params_set_format(p->pcm, hw, CONCH_S32)) < 0) return err;
	}
	if ((err = conch_alsa.hw_params_set_rate_resample(p->pcm, hw, 0)) < 0) return err;
	if ((err = conch_alsa.hw_params_set_rate(p->pcm, hw, rate, 0)) < 0) return err;
	if ((err = conch_alsa.hw_params_set_channels_near(p->pcm, hw, &p->channels)) < 0) return err;
	if ((err = conch_alsa.hw_params_set_period_size_near(p->pcm, hw, &size, &dir)) < 0) return err;
	if ((err = conch_alsa.hw_params_set_buffer_size_near(p->pcm, hw, &buffer)) < 0) return err;
	if ((err = conch_alsa.hw_params(p->pcm, hw)) < 0) return err;
	if ((err = conch_alsa.hw_params_get_period_size(hw, &size, &dir)) < 0) return err;
	if ((err = conch_alsa.hw_params_get_buffer_size(hw, &buffer)) < 0) return err;
	p->period = size;
	p->buffer = buffer;
	p->batch = conch_alsa.hw_params_is_batch(hw) > 0;
	p->ahead = p->batch ? p->period : 0;
	return 0;
}

static int conch_pcm_wakes(conch_pcm *p) {
	void *sw;
	int err = conch_alsa.sw_params_malloc(&sw);
	if (err < 0) return err;
	if ((err = conch_alsa.sw_params_current(p->pcm, sw)) >= 0 &&
	    (err = conch_alsa.sw_params_set_start_threshold(p->pcm, sw, 2ul * p->buffer)) >= 0 && // never by itself
	    (err = conch_alsa.sw_params_set_avail_min(p->pcm, sw, p->period)) >= 0)
		err = conch_alsa.sw_params(p->pcm, sw);
	conch_alsa.sw_params_free(sw);
	return err;
}

static void conch_pcm_close(conch_pcm *p) {
	if (p->pcm) {
		conch_alsa.drop(p->pcm);
		conch_alsa.close(p->pcm);
	}
	free(p->frames);
	p->pcm = p->frames = NULL;
}

// conch_pcm_open opens the card at exactly rate, whatever it has of the rest; a negative errno.
static int conch_pcm_open(conch_pcm *p, const char *name, unsigned rate, unsigned period, unsigned periods) {
	void *hw = NULL, *info = NULL;
	int err = conch_alsa_load();
	if (err < 0) return err;
	if ((err = conch_alsa.open(&p->pcm, name, CONCH_PLAYBACK, 0)) < 0) {
		p->pcm = NULL;
		return err;
	}
	if ((err = conch_alsa.hw_params_malloc(&hw)) >= 0 && (err = conch_pcm_params(p, hw, rate, period, periods)) >= 0 &&
	    (err = conch_pcm_wakes(p)) >= 0 && !(p->frames = calloc(p->buffer, p->channels * (p->wide ? 4 : 2))))
		err = -ENOMEM;
	if (hw) conch_alsa.hw_params_free(hw);
	if (err >= 0 && conch_alsa.info_malloc(&info) >= 0) {
		if (conch_alsa.info(p->pcm, info) >= 0 && conch_alsa.info_get_name(info))
			strncpy(p->name, conch_alsa.info_get_name(info), sizeof p->name - 1);
		conch_alsa.info_free(info);
	}
	if (err < 0) conch_pcm_close(p);
	return err;
}

// conch_pcm_put writes what stands in frames.
static int conch_pcm_put(conch_pcm *p, unsigned n) {
	char *at = p->frames;
	size_t frame = p->channels * (p->wide ? 4 : 2);
	while (n > 0) {
		long w = conch_alsa.writei(p->pcm, at, n);
		if (w < 0) return (int)w;
		if (w == 0) return -EIO;
		at += (size_t)w * frame;
		n -= (unsigned)w;
	}
	return 0;
}

static int conch_pcm_silence(conch_pcm *p, unsigned n) {
	memset(p->frames, 0, (size_t)n * p->channels * (p->wide ? 4 : 2));
	p->hollow += n;
	return conch_pcm_put(p, n);
}

// conch_pcm_start fills the card with silence and lets it run; also after an underrun.
static int conch_pcm_start(conch_pcm *p) {
	int err = conch_alsa.prepare(p->pcm);
	if (err >= 0) err = conch_pcm_silence(p, p->buffer);
	if (err >= 0) err = conch_alsa.start(p->pcm);
	return err;
}

static int conch_pcm_recover(conch_pcm *p, int err) {
	if (err == -ESTRPIPE) { // the machine slept
		if (conch_alsa.resume(p->pcm) >= 0) return 0;
		err = -EPIPE;
	}
	if (err != -EPIPE) return err;
	__atomic_fetch_add(&p->xruns, 1, __ATOMIC_SEQ_CST);
	return conch_pcm_start(p);
}

// conch_pcm_await is snd_pcm_wait, but for one end more: a write to wake. What the card's descriptors mean is left to libasound.
static int conch_pcm_await(conch_pcm *p) {
	enum { most = 15 };
	struct pollfd fds[most + 1];
	int n = conch_alsa.poll_descriptors_count(p->pcm);
	if (p->wake < 0 || n < 1 || n > most || conch_alsa.poll_descriptors(p->pcm, fds, (unsigned)n) != n)
		return conch_alsa.wait(p->pcm, CONCH_WAIT_MS);
	fds[n].fd = p->wake;
	fds[n].events = POLLIN;
	for (;;) {
		int got = conch_alsa.wait(p->pcm, 0);
		if (got != 0) return got;
		got = poll(fds, (nfds_t)n + 1, CONCH_WAIT_MS);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) return 0;
		if (fds[n].revents) {
			uint64_t count;
			return read(p->wake, &count, sizeof count) < 0 && errno != EAGAIN ? -EIO : 0;
		}
	}
}

// conch_pcm_wait returns when a period or more may be written, when it is woken, or after a while without; a negative errno is the
// end. While the card rests it answers by itself.
static int conch_pcm_wait(conch_pcm *p) {
	for (;;) {
		int err = conch_pcm_await(p);
		if (__atomic_load_n(&p->closing, __ATOMIC_SEQ_CST)) return 0;
		p->avail = err < 0 ? err : conch_alsa.avail(p->pcm);
		if (p->avail > (long)p->buffer) p->avail = -EPIPE; // a plug-in that ran on: what is in it has been played
		if (p->avail < 0) {
			if ((err = conch_pcm_recover(p, (int)p->avail)) < 0) return err;
			continue;
		}
		if (conch_alsa.delay(p->pcm, &p->delay) < 0) p->delay = (long)p->buffer - p->avail;
		if (!__atomic_load_n(&p->resting, __ATOMIC_SEQ_CST)) return 0;
		unsigned n = (unsigned)p->avail - (unsigned)p->avail % p->piece;
		if (n > 0 && (err = conch_pcm_silence(p, n)) < 0 && (err = conch_pcm_recover(p, err)) < 0) return err;
		if (n > 0) __atomic_fetch_add(&p->rested, 1, __ATOMIC_SEQ_CST);
	}
}

// conch_pcm_taken is how many frames of a full card the driver has taken.
static long conch_pcm_taken(conch_pcm *p) {
	long n = conch_alsa.avail(p->pcm);
	return n < 0 || n > (long)p->buffer ? 0 : n;
}

// conch_pcm_rewindable asks the card how far it is: what was known when waiting ended may be long ago.
static long conch_pcm_rewindable(conch_pcm *p) {
	long avail = conch_alsa.avail(p->pcm);
	return avail < 0 || avail > (long)p->buffer ? 0 : conch_alsa.rewindable(p->pcm);
}

static void conch_pcm_spread(conch_pcm *p, const int16_t *in, unsigned n) {
	int16_t *out = p->frames;
	int32_t *wide = p->frames;
	for (unsigned i = 0; i < n; i++)
		for (unsigned c = 0; c < p->channels; c++)
			if (p->wide) *wide++ = (int32_t)((uint32_t)(uint16_t)in[i] << 16);
			else *out++ = in[i];
}

// A plug-in goes back by what has been played, if it is told to. So no more is asked for than waits, but for what a card may play
// meanwhile; and where that has been used up, twice a margin is left: what is to come then has not been rendered yet.
enum { CONCH_NEAR = 16, CONCH_MARGIN = 96 };

// conch_pcm_rewind takes back up to so many frames and returns how many: none where the card has run dry, which is seen when
// waiting; -EIO where it says that it gave them back and did not.
static long conch_pcm_rewind(conch_pcm *p, unsigned frames) {
	long before, waited, waits, got;
	if ((before = conch_alsa.avail(p->pcm)) < 0 || before > (long)p->buffer || conch_alsa.delay(p->pcm, &waited) < 0) return 0;
	long waiting = (long)p->buffer - before - (long)p->ahead;
	if ((long)frames > waiting - CONCH_NEAR) {
		if (waiting <= CONCH_MARGIN) return 0;
		frames = (unsigned)(waiting - CONCH_MARGIN);
	}
	got = conch_alsa.rewind(p->pcm, frames);
	if (got == -EPIPE || got == -ESTRPIPE) return 0;
	if (got <= 0) return got;
	p->avail = conch_alsa.avail(p->pcm);
	if (p->avail < 0 || p->avail > (long)p->buffer || conch_alsa.delay(p->pcm, &waits) < 0) { // dry since
		p->avail = p->buffer;
		p->delay = 0;
		return got;
	}
	if (p->avail < before + got) return -EIO;
	if (waited - waits < got / 2) { // it plays them; so they stand where they stood
		if (conch_alsa.forward(p->pcm, (unsigned long)got) == got) p->avail -= got;
		return -EIO;
	}
	p->delay = waits;
	p->hollow -= p->hollow < (unsigned long long)got ? p->hollow : (unsigned long long)got;
	return got;
}

// conch_pcm_write hands over n frames of mono, no more than are free; 0 if the card had run dry, or does meanwhile, and goes on with
// silence in their place; a negative errno is the end.
static int conch_pcm_write(conch_pcm *p, const int16_t *in, unsigned n) {
	int err;
	conch_pcm_spread(p, in, n);
	if (conch_alsa.avail(p->pcm) > (long)p->buffer) err = -EPIPE; // a plug-in that ran on: it would pass over them
	else err = conch_pcm_put(p, n);
	if (err < 0) {
		if ((err = conch_pcm_recover(p, err)) < 0) return err;
		p->avail = 0;
		return 0;
	}
	p->hollow = 0;
	p->avail -= n;
	p->delay += n;
	return (int)n;
}
