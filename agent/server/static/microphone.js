// The page's worklet: takes the microphone's samples at the browser's rate, and posts frames of 40 ms as the server takes
// them: PCM, 16-bit little-endian, mono, 16 kHz. Each of its samples is the mean of those of the microphone in its time,
// which also keeps high tones from coming back as low ones.

const RATE = 16000;
const FRAME = 640; // samples

class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.step = sampleRate / RATE; // samples of the microphone for one of ours
    this.sum = 0;
    this.count = 0;
    this.passed = 0; // samples of the microphone since the last of ours
    this.frame = new DataView(new ArrayBuffer(FRAME * 2));
    this.filled = 0;
  }

  process([[channel]]) {
    for (const sample of channel || []) {
      this.sum += sample;
      this.count++;
      this.passed++;
      while (this.passed >= this.step) {
        if (this.count) this.mean = this.sum / this.count; // a slower microphone repeats its last
        this.passed -= this.step;
        this.sum = 0;
        this.count = 0;
        this.add(this.mean);
      }
    }
    return true;
  }

  add(sample) {
    this.frame.setInt16(2 * this.filled++, Math.max(-1, Math.min(1, sample)) * 32767, true);
    if (this.filled < FRAME) return;
    this.port.postMessage(this.frame.buffer.slice(0));
    this.filled = 0;
  }
}

registerProcessor("microphone", Microphone);
