// Plays the server's voice: frames of PCM one after the other, as they come, and tells how far it was heard.

const RATE = 16000;

export class Player {
  // played(seq): the audio of the `speech` frame `seq` was heard to its end.
  constructor(played) {
    this.played = played;
    this.context = null;
    this.sources = new Set(); // that play, or will
    this.at = 0; // when the next frame begins, on the context's clock
    this.part = null; // {seq, waiting, isWhole} of the `speech` frame whose audio comes
    this.isMuted = false;
  }

  // Call it when the person presses a button: browsers play nothing before.
  async open() {
    this.context ??= new AudioContext();
    await this.context.resume();
  }

  get isPlaying() {
    return this.sources.size > 0;
  }

  // A `speech` frame: the audio that follows is of `seq`.
  begin(seq) {
    this.endPart();
    this.part = { seq, waiting: 0, isWhole: false };
  }

  // No further audio follows.
  endPart() {
    const part = this.part;
    this.part = null;
    if (!part) return;
    part.isWhole = true;
    if (!part.waiting) this.played(part.seq);
  }

  add(audio) {
    const part = this.part;
    if (!this.context || !part || this.isMuted) return;
    const view = new DataView(audio);
    const buffer = this.context.createBuffer(1, Math.max(1, view.byteLength >> 1), RATE);
    const samples = buffer.getChannelData(0);
    for (let at = 0; at < view.byteLength >> 1; at++) samples[at] = view.getInt16(2 * at, true) / 32768;
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    part.waiting++;
    this.sources.add(source);
    source.addEventListener("ended", () => {
      if (!this.sources.delete(source)) return; // it was silenced
      part.waiting--;
      if (part.isWhole && !part.waiting) this.played(part.seq);
    });
    this.at = Math.max(this.at, this.context.currentTime);
    source.start(this.at);
    this.at += buffer.duration;
  }

  // Play nothing more of what has come.
  silence() {
    for (const source of this.sources) source.stop();
    this.sources.clear();
    this.part = null;
    this.at = 0;
  }
}
