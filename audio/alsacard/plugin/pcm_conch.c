/*
 * A sound card that exists only as a clock: an ALSA I/O plug-in for tests and benchmarks.
 *
 *   snd_pcm_writei -> ring[frame % buffer] -> DAC: frame n sounds at start + n / rate (CLOCK_MONOTONIC) -> log
 *
 * It behaves as a PCM of the kernel does where that matters for latency and faults:
 *   - the pointer runs by the clock, whoever has written or not. Behind the last written frame it plays the stale ring
 *     once more (or silence: option xrun) and goes on; nothing stops it but the application;
 *   - a sleeper is woken at period boundaries only, and only when avail_min frames are free (playback) or there (capture);
 *   - what was written can be rewound, up to the pointer (option rewind: or not, in all the ways in which cards do not; option
 *     batch: it has copied a period ahead, as a card on USB has, and says so);
 *   - once unplugged it answers POLLERR|POLLNVAL, -ENODEV and state DISCONNECTED, and cannot be opened;
 *   - once halted its pointer stands, and nothing says so: a transfer that never ends.
 *
 * The ring changes only in transfer(), so what the DAC read can be worked out late and still be exact: advance() does so at
 * every call and appends it to the log. Only channel 0 is logged.
 *
 * Log: records of struct record, little endian, followed by `frames` samples (int16) for PLAYED and REPLAYED.
 * Control: struct control, in a file mapped by us and by the test; every field is accessed atomically.
 */
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL
#define CHUNK 2048

enum { STARTED = 1, STOPPED, PLAYED, REPLAYED, SILENT, UNPLUGGED };

struct record {
	uint32_t magic, kind;
	int64_t at; /* of the first frame, CLOCK_MONOTONIC, ns */
	uint32_t frames, rate;
};

struct control {
	uint32_t unplugged;  /* written by the test: 1; or 2: it stands still, and says nothing */
	uint32_t mic_epoch;  /* written by the test: the microphone's file starts anew, now */
	uint32_t opens, closes;
	uint32_t underruns, overruns;
	uint64_t underrun_frames, played_frames, captured_frames;
	uint32_t period, buffer; /* of the last playback hw_params */
	uint32_t channels, polls; /* polls: how often poll_revents was asked */
};

struct card {
	snd_pcm_ioplug_t io;
	struct control *control;
	int timer, log, mic;
	int replay, stiff, batch; /* stiff: what was written is played, whoever takes it back */
	int16_t *samples;    /* the ring, channel 0 */
	snd_pcm_uframes_t avail_min, boundary;
	int running, under, gone, halted;
	long drift;          /* faster than it says, in millionths */
	double frame_ns;
	int64_t start;       /* when frame 0 of this run sounds or is heard */
	uint64_t appl;       /* frames written or read since prepare */
	uint64_t dac;        /* frames that have sounded */
	uint64_t high;       /* the most that were ever written in this run */
	uint64_t mic_base;
	uint32_t mic_epoch;
};

#define LOAD(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define ADD(p, n) __atomic_add_fetch(&(p), (n), __ATOMIC_ACQ_REL)
#define STORE(p, n) __atomic_store_n(&(p), (n), __ATOMIC_RELEASE)

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS + t.tv_nsec;
}

static int64_t time_of(struct card *c, uint64_t frame)
{
	return c->start + (int64_t)((double)frame * c->frame_ns + 0.5);
}

/* position is how many frames the clock has passed. */
static uint64_t position(struct card *c)
{
	int64_t d = now() - c->start;
	if (!c->running || c->halted)
		return c->dac;
	return d <= 0 ? 0 : (uint64_t)((double)d / c->frame_ns);
}

static void put(struct card *c, uint32_t kind, int64_t at, uint32_t frames, const int16_t *data)
{
	static __thread char buf[sizeof(struct record) + CHUNK * 2];
	struct record r = { 0x48434e43, kind, at, frames, c->io.rate };
	size_t n = sizeof r;
	if (c->log < 0)
		return;
	memcpy(buf, &r, sizeof r);
	if (data) {
		memcpy(buf + n, data, frames * 2);
		n += frames * 2;
	}
	if (write(c->log, buf, n) < 0) { /* O_APPEND, one write: records never mix */ }
}

/* advance lets the DAC play up to the present. */
static void advance(struct card *c)
{
	uint64_t to;
	int16_t out[CHUNK];
	if (!c->running || c->gone)
		return;
	to = position(c);
	if (c->io.stream == SND_PCM_STREAM_CAPTURE) {
		ADD(c->control->captured_frames, to - c->dac);
		c->dac = to;
		return;
	}
	while (c->dac < to) {
		uint64_t n = to - c->dac, i;
		int under = c->dac >= c->appl;
		if (n > CHUNK)
			n = CHUNK;
		if (!under && n > c->appl - c->dac)
			n = c->appl - c->dac;
		if (under && !c->appl) { /* miniaudio starts a card before it writes: some 0.1 ms of an empty ring */
			put(c, SILENT, time_of(c, c->dac), n, NULL);
			c->dac += n;
			continue;
		}
		if (under && !c->under)
			ADD(c->control->underruns, 1);
		c->under = under;
		for (i = 0; i < n; i++)
			out[i] = c->samples[(c->dac + i) % c->io.buffer_size];
		if (under)
			ADD(c->control->underrun_frames, n);
		else
			ADD(c->control->played_frames, n);
		if (under && !c->replay)
			put(c, SILENT, time_of(c, c->dac), n, NULL);
		else
			put(c, under ? REPLAYED : PLAYED, time_of(c, c->dac), n, out);
		c->dac += n;
	}
}

/* arm sets the timer to when the sleeper should be woken. It stays readable until armed anew: level-triggered, as poll is. */
static void arm(struct card *c)
{
	struct itimerspec t = { { 0, 0 }, { 0, 1 } }; /* at once */
	if (c->halted) {
		t.it_value.tv_nsec = 0; /* never */
	} else if (c->running && !c->gone) {
		uint64_t frame = c->appl + c->avail_min;
		uint64_t p = c->io.period_size ? c->io.period_size : 1;
		if (c->io.stream == SND_PCM_STREAM_PLAYBACK)
			frame = frame > c->io.buffer_size ? frame - c->io.buffer_size : 0;
		if (frame) {
			int64_t at = time_of(c, (frame + p - 1) / p * p);
			t.it_value.tv_sec = at / NS;
			t.it_value.tv_nsec = at % NS;
		}
	} else if (c->io.stream == SND_PCM_STREAM_CAPTURE && !c->gone) {
		t.it_value.tv_nsec = 0; /* not started: never */
	}
	timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

/* lost looks whether the cable has been pulled, and says so once. */
static int lost(struct card *c)
{
	if (!c->halted && LOAD(c->control->unplugged) == 2) {
		advance(c);
		c->halted = 1;
		arm(c);
	}
	if (!c->gone && LOAD(c->control->unplugged) == 1) {
		advance(c);
		c->gone = 1;
		put(c, UNPLUGGED, now(), 0, NULL);
		snd_pcm_ioplug_set_state(&c->io, SND_PCM_STATE_DISCONNECTED);
		arm(c);
	}
	return c->gone;
}

static int conch_start(snd_pcm_ioplug_t *io)
{
	struct card *c = io->private_data;
	if (lost(c))
		return -ENODEV;
	c->start = now();
	c->frame_ns = NS / (c->io.rate * (1 + c->drift * 1e-6));
	c->running = 1;
	put(c, STARTED, c->start, 0, NULL);
	arm(c);
	return 0;
}

static int conch_stop(snd_pcm_ioplug_t *io)
{
	struct card *c = io->private_data;
	advance(c);
	if (c->running)
		put(c, STOPPED, now(), 0, NULL);
	c->running = 0;
	arm(c);
	return 0;
}

static snd_pcm_sframes_t conch_pointer(snd_pcm_ioplug_t *io)
{
	struct card *c = io->private_data;
	if (!lost(c))
		advance(c);
	return c->dac % c->boundary;
}

static snd_pcm_sframes_t conch_transfer(snd_pcm_ioplug_t *io, const snd_pcm_channel_area_t *areas, snd_pcm_uframes_t offset, snd_pcm_uframes_t size)
{
	struct card *c = io->private_data;
	int16_t *p = (int16_t *)((char *)areas[0].addr + (areas[0].first + areas[0].step * offset) / 8);
	snd_pcm_uframes_t i, k, n;
	unsigned ch, step = areas[0].step / 16;
	if (lost(c))
		return -ENODEV;
	advance(c);
	if (io->stream == SND_PCM_STREAM_PLAYBACK) {
		uint64_t back = (c->appl % c->boundary + c->boundary - io->appl_ptr) % c->boundary;
		if (back <= io->buffer_size && !c->stiff) /* snd_pcm_rewind moves the pointer and tells nobody */
			c->appl -= back;
		uint64_t copied = c->batch ? c->dac + io->period_size : 0;
		if (copied > c->high)
			copied = c->high;
		for (i = 0; i < size; i++)
			if (c->appl + i >= copied)
				c->samples[(c->appl + i) % io->buffer_size] = p[i * step];
	} else {
		uint32_t epoch = LOAD(c->control->mic_epoch);
		if (epoch != c->mic_epoch) {
			c->mic_epoch = epoch;
			c->mic_base = c->appl;
		}
		if (c->dac > c->appl + io->buffer_size)
			ADD(c->control->overruns, 1);
		for (i = 0; i < size; i += n) { /* the file holds one channel; behind its end is silence */
			int16_t heard[CHUNK];
			memset(heard, 0, sizeof heard);
			n = size - i < CHUNK ? size - i : CHUNK;
			if ((c->mic >= 0 && pread(c->mic, heard, n * 2, (c->appl + i - c->mic_base) * 2) < 0) ||
			    LOAD(c->control->mic_epoch) != epoch || epoch & 1)
				memset(heard, 0, sizeof heard); /* odd: it is being written */
			for (k = 0; k < n; k++)
				for (ch = 0; ch < io->channels; ch++)
					p[(i + k) * step + ch] = heard[k];
		}
	}
	c->appl += size;
	if (c->appl > c->high)
		c->high = c->appl;
	arm(c);
	return size;
}

static int conch_delay(snd_pcm_ioplug_t *io, snd_pcm_sframes_t *frames)
{
	struct card *c = io->private_data;
	uint64_t appl = c->appl;
	if (lost(c))
		return -ENODEV;
	advance(c);
	if (io->stream == SND_PCM_STREAM_PLAYBACK && !c->stiff)
		appl -= (c->appl % c->boundary + c->boundary - io->appl_ptr) % c->boundary;
	*frames = io->stream == SND_PCM_STREAM_PLAYBACK ? (snd_pcm_sframes_t)(appl - c->dac) : (snd_pcm_sframes_t)(c->dac - c->appl);
	return 0;
}

static int conch_revents(snd_pcm_ioplug_t *io, struct pollfd *pfd, unsigned int n, unsigned short *revents)
{
	struct card *c = io->private_data;
	uint64_t pos;
	(void)pfd; (void)n;
	*revents = 0;
	ADD(c->control->polls, 1);
	if (lost(c)) {
		*revents = POLLERR | POLLNVAL;
		return 0;
	}
	advance(c);
	pos = c->dac;
	if (io->stream == SND_PCM_STREAM_PLAYBACK) {
		if (pos + io->buffer_size >= c->appl + c->avail_min)
			*revents = POLLOUT;
	} else if (pos >= c->appl + c->avail_min) {
		*revents = POLLIN;
	}
	if (!*revents)
		arm(c);
	return 0;
}

enum { HW_PARAMS_INFO = 520 / 4, INFO_BATCH = 0x10 }; /* of struct snd_pcm_hw_params, <sound/asound.h> */

static int conch_hw_params(snd_pcm_ioplug_t *io, snd_pcm_hw_params_t *params)
{
	struct card *c = io->private_data;
	if (c->batch) { /* libasound asks its plug-ins for no such thing; the place is the kernel's, and does not change */
		((uint32_t *)params)[HW_PARAMS_INFO] |= INFO_BATCH;
		if (!snd_pcm_hw_params_is_batch(params))
			return -EINVAL;
	}
	free(c->samples);
	c->samples = calloc(io->buffer_size, sizeof *c->samples);
	if (io->stream == SND_PCM_STREAM_PLAYBACK) {
		STORE(c->control->period, io->period_size);
		STORE(c->control->buffer, io->buffer_size);
		STORE(c->control->channels, io->channels);
	}
	return c->samples ? 0 : -ENOMEM;
}

static int conch_sw_params(snd_pcm_ioplug_t *io, snd_pcm_sw_params_t *params)
{
	struct card *c = io->private_data;
	snd_pcm_sw_params_get_avail_min(params, &c->avail_min);
	snd_pcm_sw_params_get_boundary(params, &c->boundary);
	if (!c->boundary)
		c->boundary = io->buffer_size;
	if (!c->avail_min)
		c->avail_min = 1;
	return 0;
}

static int conch_prepare(snd_pcm_ioplug_t *io)
{
	struct card *c = io->private_data;
	if (lost(c))
		return -ENODEV;
	c->running = c->under = 0;
	c->appl = c->dac = c->high = c->mic_base = 0;
	if (c->samples)
		memset(c->samples, 0, io->buffer_size * sizeof *c->samples);
	arm(c);
	return 0;
}

static int conch_close(snd_pcm_ioplug_t *io)
{
	struct card *c = io->private_data;
	ADD(c->control->closes, 1);
	close(c->timer);
	if (c->log >= 0)
		close(c->log);
	if (c->mic >= 0)
		close(c->mic);
	munmap(c->control, sizeof *c->control);
	free(c->samples);
	free(c);
	return 0;
}

static const snd_pcm_ioplug_callback_t callbacks = {
	.start = conch_start, .stop = conch_stop, .pointer = conch_pointer, .transfer = conch_transfer,
	.poll_revents = conch_revents, .delay = conch_delay, .hw_params = conch_hw_params, .sw_params = conch_sw_params,
	.prepare = conch_prepare, .close = conch_close,
};

/* A plug-in is not asked whether it can be rewound: libasound moves its pointer, and it has to live with that. So where this card
 * shall refuse, the calls are answered before libasound sees them, by a table of calls of our own. It is found by what stands behind
 * it: twice the PCM itself, which is the argument of the calls. */
enum { CALLS = 20, REWINDABLE = 14, REWIND = 15 };

static snd_pcm_sframes_t (*rewind_half)(snd_pcm_t *, snd_pcm_uframes_t);
static snd_pcm_sframes_t rewindable_none(snd_pcm_t *pcm) { (void)pcm; return 0; }
static snd_pcm_sframes_t rewind_error(snd_pcm_t *pcm, snd_pcm_uframes_t n) { (void)pcm; (void)n; return -EPERM; }
static snd_pcm_sframes_t rewind_zero(snd_pcm_t *pcm, snd_pcm_uframes_t n) { (void)pcm; (void)n; return 0; }
static snd_pcm_sframes_t rewind_some(snd_pcm_t *pcm, snd_pcm_uframes_t n) { return rewind_half(pcm, n / 2); }

static int refuse(snd_pcm_t *pcm, const char *how)
{
	void **word = (void **)pcm, **table;
	size_t n = malloc_usable_size(pcm) / sizeof *word, i;
	for (i = 2; i + 1 < n && (word[i] != pcm || word[i + 1] != pcm); i++) ;
	if (i + 1 >= n || !(table = malloc(2 * CALLS * sizeof *table))) /* as long as the process */
		return -ENOSYS;
	memcpy(table, word[i - 1], 2 * CALLS * sizeof *table);
	if (!strcmp(how, "none")) table[REWINDABLE] = rewindable_none;
	else if (!strcmp(how, "error")) table[REWIND] = rewind_error;
	else if (!strcmp(how, "zero")) table[REWIND] = rewind_zero;
	else if (!strcmp(how, "half")) {
		rewind_half = table[REWIND];
		table[REWIND] = rewind_some;
	} else return -EINVAL;
	word[i - 1] = table;
	return 0;
}

static int limit(struct card *c, long rate, long channels, long min_period, long max_buffer)
{
	const unsigned access[] = { SND_PCM_ACCESS_RW_INTERLEAVED };
	const unsigned format[] = { SND_PCM_FORMAT_S16_LE };
	unsigned frame = 2 * channels;
	int err;
	if ((err = snd_pcm_ioplug_set_param_list(&c->io, SND_PCM_IOPLUG_HW_ACCESS, 1, access)) < 0 ||
	    (err = snd_pcm_ioplug_set_param_list(&c->io, SND_PCM_IOPLUG_HW_FORMAT, 1, format)) < 0 ||
	    (err = snd_pcm_ioplug_set_param_minmax(&c->io, SND_PCM_IOPLUG_HW_CHANNELS, channels, channels)) < 0 ||
	    (err = snd_pcm_ioplug_set_param_minmax(&c->io, SND_PCM_IOPLUG_HW_RATE, rate, rate)) < 0 ||
	    (err = snd_pcm_ioplug_set_param_minmax(&c->io, SND_PCM_IOPLUG_HW_PERIOD_BYTES, min_period * frame, 16384 * frame)) < 0 ||
	    (err = snd_pcm_ioplug_set_param_minmax(&c->io, SND_PCM_IOPLUG_HW_BUFFER_BYTES, 2 * min_period * frame, max_buffer * frame)) < 0 ||
	    (err = snd_pcm_ioplug_set_param_minmax(&c->io, SND_PCM_IOPLUG_HW_PERIODS, 2, 64)) < 0)
		return err;
	return 0;
}

SND_PCM_PLUGIN_DEFINE_FUNC(conch)
{
	snd_config_iterator_t i, next;
	const char *control = NULL, *log = NULL, *mic = NULL, *xrun = "replay", *rewind = "all";
	long rate = 48000, channels = 2, min_period = 16, max_buffer = 65536, batch = 0, drift = 0;
	struct card *c;
	int fd, err;
	(void)root;

	snd_config_for_each(i, next, conf) {
		snd_config_t *n = snd_config_iterator_entry(i);
		const char *id;
		if (snd_config_get_id(n, &id) < 0 || !strcmp(id, "type") || !strcmp(id, "hint") || !strcmp(id, "comment"))
			continue;
		if (!strcmp(id, "control")) snd_config_get_string(n, &control);
		else if (!strcmp(id, "log")) snd_config_get_string(n, &log);
		else if (!strcmp(id, "mic")) snd_config_get_string(n, &mic);
		else if (!strcmp(id, "xrun")) snd_config_get_string(n, &xrun);
		else if (!strcmp(id, "rate")) snd_config_get_integer(n, &rate);
		else if (!strcmp(id, "channels")) snd_config_get_integer(n, &channels);
		else if (!strcmp(id, "rewind")) snd_config_get_string(n, &rewind);
		else if (!strcmp(id, "batch")) snd_config_get_integer(n, &batch);
		else if (!strcmp(id, "drift")) snd_config_get_integer(n, &drift);
		else if (!strcmp(id, "max_buffer")) snd_config_get_integer(n, &max_buffer);
		else if (!strcmp(id, "min_period")) snd_config_get_integer(n, &min_period);
		else { SNDERR("conch: unknown field %s", id); return -EINVAL; }
	}
	if (!control)
		return -EINVAL;
	if (!(c = calloc(1, sizeof *c)))
		return -ENOMEM;
	fd = open(control, O_RDWR | O_CLOEXEC);
	c->control = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *c->control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (c->control == MAP_FAILED) {
		free(c);
		return -ENODEV;
	}
	if (LOAD(c->control->unplugged) == 1) {
		munmap(c->control, sizeof *c->control);
		free(c);
		return -ENODEV;
	}
	c->stiff = !strcmp(rewind, "lies");
	c->batch = batch;
	c->drift = drift;
	c->replay = strcmp(xrun, "silence") != 0;
	c->avail_min = c->boundary = 1;
	c->mic_epoch = LOAD(c->control->mic_epoch);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	c->log = c->mic = -1;
	if (stream == SND_PCM_STREAM_PLAYBACK && log)
		c->log = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (stream == SND_PCM_STREAM_CAPTURE && mic)
		c->mic = open(mic, O_RDONLY | O_CLOEXEC);
	c->io.version = SND_PCM_IOPLUG_VERSION;
	c->io.name = "conch: a card made of a clock";
	c->io.callback = &callbacks;
	c->io.private_data = c;
	c->io.poll_fd = c->timer;
	c->io.poll_events = POLLIN;
	c->io.mmap_rw = 0;
	/* Without this the pointer wraps at the buffer's end, and a stall longer than the buffer is lost on libasound. */
	c->io.flags = SND_PCM_IOPLUG_FLAG_BOUNDARY_WA;
	ADD(c->control->opens, 1);
	if ((err = snd_pcm_ioplug_create(&c->io, name, stream, mode)) < 0) {
		conch_close(&c->io);
		return err;
	}
	if ((err = limit(c, rate, channels, min_period, max_buffer)) < 0 ||
	    (stream == SND_PCM_STREAM_PLAYBACK && !c->stiff && strcmp(rewind, "all") && (err = refuse(c->io.pcm, rewind)) < 0)) {
		snd_pcm_ioplug_delete(&c->io); /* calls close */
		return err;
	}
	*pcmp = c->io.pcm;
	return 0;
}

SND_PCM_PLUGIN_SYMBOL(conch);
