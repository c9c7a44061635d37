// Talking and listening, with a server that hears and speaks: a button for each. The microphone is asked for when it is
// pressed; a page without one, or that is refused it, works as before and says why.

import { tell } from "/static/field.js";
import { words } from "/static/language.js";
import { Player } from "/static/player.js";

const byId = (id) => document.getElementById(id);
const talk = byId("talk");
const listen = byId("listen");
const heard = byId("heard");
const abilities = (document.querySelector('meta[name="agent-voice"]')?.content || "").split(" ");

let app = null; // {connection, reconnect(), hear(id, text)}
let isOpen = false; // the connection is one with voice
let wantsTalk = false;
let wantsListen = false;
let spoken = ""; // the id of the message whose answer is being said
let microphone = null; // {stream, context} while it is open
const player = new Player((seq) => app.connection.send({ type: "played", seq }));

const hears = abilities.includes("hears");
const speaks = abilities.includes("speaks");

// Whether the next connection is to be one with voice.
export const wantsVoice = () => wantsTalk || wantsListen;

export function beginVoice(of) {
  app = of;
  byId("voice").hidden = !hears && !speaks;
  talk.hidden = !hears;
  listen.hidden = !speaks;
  talk.addEventListener("click", () => (wantsTalk ? stopTalking() : startTalking()));
  listen.addEventListener("click", () => (wantsListen ? stopListening() : startListening()));
}

export function speakVoice() {
  for (const each of document.querySelectorAll("[data-voice]")) each.textContent = words().voice[each.dataset.voice];
}

// The welcome of a connection.
export function voiceWelcome(frame) {
  isOpen = Boolean(frame.voice);
  if (isOpen && microphone) sendListen(true);
}

export function voiceLost() {
  isOpen = false;
  player.silence();
  spoken = "";
  showHeard("");
}

// Silence what is being said; return whether anything was.
export function silence() {
  const id = spoken;
  if (!id && !player.isPlaying) return false;
  player.silence();
  spoken = "";
  if (id) app.connection.send({ type: "cancel", id });
  return true;
}

export const sounded = (audio) => player.add(audio);

export const voiceFrames = {
  heard(frame) {
    showHeard(frame.final ? "" : frame.text);
    if (frame.final && frame.text) app.hear(frame.id, frame.text);
  },

  speech(frame) {
    spoken = frame.id;
    player.begin(frame.seq);
  },

  speech_end(frame) {
    if (frame.reason === "cancelled" || frame.reason === "slow") player.silence();
    else player.endPart();
    if (frame.reason === "failed") tell(words().voice.failed);
    if (spoken === frame.id) spoken = "";
  },
};

async function startListening() {
  await player.open();
  press(listen, (wantsListen = true));
  player.isMuted = false;
  if (!isOpen) app.reconnect();
}

function stopListening() {
  silence();
  player.isMuted = true;
  press(listen, (wantsListen = false));
}

async function startTalking() {
  tell("");
  if (!navigator.mediaDevices?.getUserMedia || !globalThis.AudioWorkletNode) {
    tell(words().voice.noMicrophone);
    return;
  }
  press(talk, (wantsTalk = true));
  try {
    microphone = await openMicrophone((audio) => isOpen && app.connection.sendAudio(audio));
  } catch (error) {
    press(talk, (wantsTalk = false));
    tell(error.name === "NotAllowedError" ? words().voice.refused : words().voice.noMicrophone);
    return;
  }
  if (!wantsTalk) closeMicrophone(); // it was pressed again meanwhile
  else if (isOpen) sendListen(true);
  else app.reconnect();
}

function stopTalking() {
  press(talk, (wantsTalk = false));
  closeMicrophone();
  showHeard("");
  if (isOpen) sendListen(false);
}

async function openMicrophone(take) {
  const audio = { channelCount: 1, echoCancellation: true, noiseSuppression: true };
  const stream = await navigator.mediaDevices.getUserMedia({ audio });
  const context = new AudioContext();
  try {
    await context.audioWorklet.addModule("/static/microphone.js");
  } catch (error) {
    stream.getTracks().forEach((track) => track.stop());
    throw error;
  }
  const node = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
  node.port.addEventListener("message", ({ data }) => take(data));
  node.port.start();
  context.createMediaStreamSource(stream).connect(node);
  return { stream, context };
}

function closeMicrophone() {
  microphone?.stream.getTracks().forEach((track) => track.stop());
  microphone?.context.close();
  microphone = null;
}

function sendListen(on) {
  const settings = microphone?.stream.getAudioTracks()[0]?.getSettings();
  app.connection.send({ type: "listen", on, echoCancelled: settings?.echoCancellation === true });
}

function press(button, isPressed) {
  button.setAttribute("aria-pressed", String(isPressed));
}

function showHeard(text) {
  heard.textContent = text;
}
