// A player as programs on PortAudio's blocking calls have it: pieces of a tone are written into a card that holds two of them, and
// between two writes it looks whether it should stop. On standard input: p plays, s stops, in one of two ways: "silence" goes on with
// zeros, "abort" throws away what the card holds and stands until the next p.
//
//	blocking DEVICE FRAMES silence|abort
#include <alsa/asoundlib.h>
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { rate = 48000, most = 4096 };

int main(int argc, char **argv) {
	snd_pcm_t *pcm;
	static int16_t piece[2 * most];
	if (argc != 4)
		return 2;
	snd_pcm_uframes_t frames = strtoul(argv[2], NULL, 10), buffer = 2 * frames;
	int abort = !strcmp(argv[3], "abort"), err;
	snd_pcm_hw_params_t *hw;
	snd_pcm_hw_params_alloca(&hw);
	if (frames > most || (err = snd_pcm_open(&pcm, argv[1], SND_PCM_STREAM_PLAYBACK, 0)) < 0 || (err = snd_pcm_hw_params_any(pcm, hw)) < 0 ||
	    (err = snd_pcm_hw_params_set_access(pcm, hw, SND_PCM_ACCESS_RW_INTERLEAVED)) < 0 ||
	    (err = snd_pcm_hw_params_set_format(pcm, hw, SND_PCM_FORMAT_S16_LE)) < 0 || (err = snd_pcm_hw_params_set_channels(pcm, hw, 2)) < 0 ||
	    (err = snd_pcm_hw_params_set_rate(pcm, hw, rate, 0)) < 0 || (err = snd_pcm_hw_params_set_period_size_near(pcm, hw, &frames, NULL)) < 0 ||
	    (err = snd_pcm_hw_params_set_buffer_size_near(pcm, hw, &buffer)) < 0 || (err = snd_pcm_hw_params(pcm, hw)) < 0) {
		fprintf(stderr, "blocking: %s: %s\n", argv[1], snd_strerror(err));
		return 1;
	}
	int playing = 0;
	uint64_t at = 0;
	for (;;) {
		struct pollfd in = {.fd = 0, .events = POLLIN};
		char c;
		if (poll(&in, 1, !playing && abort ? -1 : 0) > 0) {
			if (read(0, &c, 1) != 1)
				return 0;
			if (playing && c == 's' && abort)
				snd_pcm_drop(pcm);
			if (!playing && c == 'p' && abort)
				snd_pcm_prepare(pcm);
			playing = c == 'p';
			continue;
		}
		for (snd_pcm_uframes_t i = 0; i < frames; i++, at++)
			piece[2 * i] = piece[2 * i + 1] = playing ? (int16_t)(11000 * sin(2 * M_PI * 1000 * (double)at / rate)) : 0;
		if (snd_pcm_writei(pcm, piece, frames) < 0)
			snd_pcm_prepare(pcm);
	}
}
