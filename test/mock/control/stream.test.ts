import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { MockService } from 'geohook/mock'
import { expect, it } from 'vitest'
import { capture, FEATURE, pathOf, post, same, seed, start } from '../support.ts'

/** Reads the stream until `count` events have arrived. */
async function read(
  service: MockService,
  count: number,
  act: () => Promise<unknown>,
): Promise<{ type: string; response: IncomingMessage; events: [id: string, type: string, data: object][] }> {
  const request = get(`${service.url}/_mock/events`)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const events: [string, string, object][] = []
  let text = ''
  const done = new Promise<void>((resolve) => {
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/s.exec(text.slice(0, end))
        if (event) events.push([event[1] as string, event[2] as string, JSON.parse(event[3] as string)])
        text = text.slice(end + 2)
      }
      if (events.length >= count) resolve()
    })
  })
  await act()
  await done
  return { type: String(response.headers['content-type']), response, events }
}

it('sends edits and attempts as they happen, without keys', async () => {
  const receiver = await capture()
  const webhook = seed(FEATURE, { hookUrl: receiver.url })
  const service = await start([webhook])
  const { type, events, response } = await read(service, 4, async () => {
    await post(service, `${pathOf(webhook)}/edit`, { ...same(webhook), name: 'new name' })
    await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    await post(service, `${pathOf(webhook)}/delete`, {})
    service.restore({})
  })
  response.destroy()
  expect(type).toBe('text/event-stream')
  const about = { webhookId: FEATURE.id, name: 'new name', service: 'Parcels.FeatureServer' }
  expect(events).toEqual([
    ['1', 'webhook', { change: 'edited', ...about }],
    ['2', 'attempt', expect.objectContaining({ webhookId: FEATURE.id, number: 1 })],
    ['3', 'webhook', { change: 'deleted', ...about }],
    ['4', 'restored', {}],
  ])
  expect(JSON.stringify(events)).not.toContain(FEATURE.signatureKey)
})

it('close ends the stream of a connected client', async () => {
  const service = await start([])
  const { response } = await read(service, 1, async () => service.restore({}))
  const ended = new Promise((resolve) => response.on('error', () => {}).once('close', resolve))
  await service.close()
  await ended
})
