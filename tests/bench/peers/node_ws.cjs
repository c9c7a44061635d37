// Node's `ws`, without compression: node node_ws.cjs WORDS PACE_MS [yield]. NODE_PATH says where `ws` is.
'use strict'
const { WebSocketServer } = require('ws')

const WORDS = ['alpha ', 'bravo ', 'delta ', 'gamma ', 'sigma ']
const BETWEEN = 8
const count = Number(process.argv[2])
const pace = Number(process.argv[3])
const yields = process.argv[4] === 'yield'

const delta = (k, id) => JSON.stringify({ type: 'stream', delta: WORDS[k % WORDS.length], id })

function end(socket, id) {
  let text = ''
  for (let k = 0; k < count; k++) text += WORDS[k % WORDS.length]
  socket.send(JSON.stringify({ type: 'stream_end', reason: 'done', id }))
  socket.send(JSON.stringify({ type: 'response', text, citations: [], id }))
}

async function flatOut(socket, id) {
  for (let k = 0; k < count; k++) {
    if (yields && k % BETWEEN === 0) await new Promise(setImmediate)
    socket.send(delta(k, id))
  }
  end(socket, id)
}

function paced(socket, id, began, k) {
  socket.send(delta(k, id))
  if (k + 1 === count) return end(socket, id)
  const next = began + (k + 1) * pace
  setTimeout(paced, Math.max(0, next - performance.now()), socket, id, began, k + 1)
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, backlog: 2048 })
server.on('connection', (socket) => {
  socket.on('error', () => {})
  socket.on('message', (data) => {
    const { type, id } = JSON.parse(data)
    if (type !== 'message') return
    if (pace) paced(socket, id, performance.now(), 0)
    else flatOut(socket, id)
  })
})
server.on('listening', () => console.log(server.address().port))
