const { createServer } = require('node:http')
const { createReceiver } = require('geohook')
const onExpress = require('geohook/express')
const onNode = require('geohook/node')

const received = []
const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', (event) => {
  received.push(event.changeType)
})

function startNode() {
  return createServer(onNode.webhook(receiver)).listen(0, '127.0.0.1')
}

function startExpress() {
  const express = require('express')
  const app = express()
  app.post('/hook', onExpress.webhook(receiver))
  return app.listen(0, '127.0.0.1')
}

module.exports = { received, startNode, startExpress }
