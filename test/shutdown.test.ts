import { expect, it } from 'vitest'
import { deliver, KEY, urlOf } from './helpers/example.ts'
import { startNode } from './helpers/process.ts'
import { expectShutdown } from './helpers/shutdown.ts'

it.concurrent('SIGTERM ends a server in time while eight connections keep sending, and every request is answered', () =>
  expectShutdown(['examples/node/server.js']))

it.concurrent('a handler that never returns does not keep the process alive: exit code 1 after the timeout', async () => {
  const program = `
    import { createServer } from 'node:http'
    import { createReceiver } from 'geohook'
    import { closeOnSignal, webhook } from 'geohook/node'
    const receiver = createReceiver({ signatureKey: '${KEY}' }).on('*', () => {
      setInterval(() => {}, 1000)
      console.log('at work')
      return new Promise(() => {})
    })
    const server = createServer(webhook(receiver)).listen(0, '127.0.0.1', () => {
      console.log('listening on http://127.0.0.1:' + server.address().port + '/')
    })
    closeOnSignal(server, receiver, { timeout: 200 })`
  const app = startNode(['--input-type=module', '--eval', program])
  const delivered = deliver(await urlOf(app))
  await app.printed(/at work/)
  expect(await app.stop('SIGINT')).toBe(1)
  expect(await delivered).toBeUndefined()
})
