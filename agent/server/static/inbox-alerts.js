// What tells of a new call beside the list: a sound without a file, and a notification of the desktop.

import { texts } from "/static/inbox-texts.js";

const LOUDNESS = 0.15;
let audio = null;

export const isOn = (name) => localStorage.getItem(`inbox-${name}`) === "on";

export function turn(name, on) {
  localStorage.setItem(`inbox-${name}`, on ? "on" : "off");
}

// Play two short tones. A browser plays none before the person has done something on the page.
export function beep() {
  audio ||= new AudioContext();
  if (audio.state === "suspended") audio.resume().catch(() => {});
  [660, 880].forEach((pitch, at) => {
    const [tone, gain] = [audio.createOscillator(), audio.createGain()];
    const start = audio.currentTime + at * 0.14;
    tone.frequency.value = pitch;
    gain.gain.setValueAtTime(LOUDNESS, start);
    gain.gain.exponentialRampToValueAtTime(0.001, start + 0.13);
    tone.connect(gain).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 0.14);
  });
}

// Ask the browser for leave; returns whether it gives it.
export async function mayNotify() {
  if (!("Notification" in globalThis)) return false;
  if (Notification.permission === "default") await Notification.requestPermission();
  return Notification.permission === "granted";
}

export function alert(tools) {
  if (isOn("sound")) beep();
  if (isOn("notify") && "Notification" in globalThis && Notification.permission === "granted") {
    const notice = new Notification(texts().notice, { body: tools.slice(0, 3).join(", "), tag: "inbox" });
    notice.onclick = () => {
      focus();
      notice.close();
    };
  }
}
