import { once } from 'node:events'
import { connect } from 'node:http2'
import { createPayload, createSigner } from 'geohook/testing'
import { expect, it } from 'vitest'
import { deliver, KEY, urlOf } from './helpers/example.ts'
import { startNode } from './helpers/process.ts'
import { expectShutdown } from './helpers/shutdown.ts'

it.concurrent('a server exits on SIGTERM and responds to every request while eight connections keep sending', () =>
  expectShutdown(['examples/node/server.js']))

it.concurrent('an HTTP/2 server finishes its requests before it exits', async () => {
  const program = `
    import { createServer } from 'node:http2'
    import { closeOnSignal, createReceiver } from 'geohook'
    import { webhook } from 'geohook/node'
    const receiver = createReceiver({ signatureKey: '${KEY}' }).on('*', async () => {
      console.log('in progress')
      await new Promise((resolve) => setTimeout(resolve, 300))
    })
    const server = createServer(webhook(receiver)).listen(0, '127.0.0.1', () => {
      console.log('listening on http://127.0.0.1:' + server.address().port + '/')
    })
    closeOnSignal(server, receiver, { after: () => console.log('closed') })`
  const app = startNode(['--input-type=module', '--eval', program])
  const { origin } = new URL(await urlOf(app))
  const [busy, idle] = [connect(origin), connect(origin)]
  await once(idle, 'connect')
  const { headers, body } = await createSigner({ signatureKey: KEY }).sign(createPayload('FeaturesCreated'))
  const stream = busy.request({ ':method': 'POST', ':path': '/', ...headers })
  const response = once(stream, 'response')
  stream.resume().end(body)
  await app.printed(/in progress/)
  expect(await app.stop('SIGTERM')).toBe(0)
  expect((await response)[0][':status']).toBe(200)
  expect(app.output).toContain('closed')
  for (const session of [busy, idle]) session.destroy()
})

it.concurrent('the process exits with 1 after the timeout if a handler never returns', async () => {
  const program = `
    import { createServer } from 'node:http'
    import { closeOnSignal, createReceiver } from 'geohook'
    import { webhook } from 'geohook/node'
    const receiver = createReceiver({ signatureKey: '${KEY}' }).on('*', () => {
      setInterval(() => {}, 1000)
      console.log('handling')
      return new Promise(() => {})
    })
    const server = createServer(webhook(receiver)).listen(0, '127.0.0.1', () => {
      console.log('listening on http://127.0.0.1:' + server.address().port + '/')
    })
    closeOnSignal(server, receiver, { timeout: 200 })`
  const app = startNode(['--input-type=module', '--eval', program])
  const delivered = deliver(await urlOf(app))
  await app.printed(/handling/)
  expect(await app.stop('SIGINT')).toBe(1)
  expect(await delivered).toBeUndefined()
})

it.concurrent('the process finishes its requests when Ctrl-C arrives twice, because tsx forwards it', async () => {
  const program = `
    import { createServer } from 'node:http'
    import { closeOnSignal, createReceiver } from 'geohook'
    import { webhook } from 'geohook/node'
    const receiver = createReceiver({ signatureKey: '${KEY}' }).on('*', () => {
      console.log('handling')
      return new Promise((resolve) => process.stdin.once('data', resolve))
    })
    const server = createServer(webhook(receiver)).listen(0, '127.0.0.1', () => {
      console.log('listening on http://127.0.0.1:' + server.address().port + '/')
    })
    process.once('SIGINT', () => console.log('first signal'))
    closeOnSignal(server, receiver, { after: () => process.stdin.destroy() })`
  const app = startNode(['--input-type=module', '--eval', program], {}, { stdin: 'open' })
  const delivered = deliver(await urlOf(app))
  await app.printed(/handling/)
  app.child.kill('SIGINT')
  await app.printed(/first signal/)
  app.child.kill('SIGINT')
  app.child.stdin?.write('go')
  expect(await delivered).toBe(200)
  expect(await app.exited).toBe(0)
})
