import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'

const load = (path: string) => import(new URL(`../../scripts/soak/${path}`, import.meta.url).href)

it('gives up a connection without a response, and one that stays open', async () => {
  const { openConnection } = await load('traffic/connection.mjs')
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connection = await openConnection(port, { timeout: 100 })
  const responses = [connection.nextStatus(), connection.nextStatus()]
  await connection.write('POST / HTTP/1.1\r\n\r\n')
  expect(await Promise.all(responses)).toEqual(['no response', 'no response'])
  expect(await connection.closed).toBe('left open')

  const other = await openConnection(port)
  other.destroy()
  expect(await other.closed).toBe('closed')
})

it('reports deliveries that stay pending, and does not wait for them again', async () => {
  const { createDrain } = await load('server/drain.mjs')
  const stats = { waiting: 2, active: 1 }
  const troubles = ['inbox: oops']
  const drain = createDrain({ stats: async () => stats }, troubles, 50)
  const fault = 'inbox: 2 deliveries waiting and 1 active after 0.05 seconds'
  expect(await drain()).toEqual(['inbox: oops', fault])
  expect(await drain()).toEqual([])
  stats.waiting = 3
  expect(await drain()).toEqual([fault.replace('2', '3')])
  stats.waiting = stats.active = 0
  expect(await drain()).toEqual([])
})
