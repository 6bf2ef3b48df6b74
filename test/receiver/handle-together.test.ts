import { createReceiver, type HandlerContext, type StoredDelivery, type WebhookEvent } from 'geohook'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { receiverPort } from '../helpers/receiver-port.ts'

const ROOT = 'https://gis.example.com/rest/services'
let number = 0

/** Creates a stored delivery. Later calls create newer deliveries. */
function stored(payload: object): StoredDelivery {
  return {
    id: `${number++}`.padStart(32, '0'),
    rawBody: new TextEncoder().encode(JSON.stringify(payload)),
    contentType: 'application/json',
    headers: {},
    receivedAt: new Date(1_730_385_704_000 + number),
    profile: 'service',
  }
}

const urlOf = (serverGens: string, more = '', service = 'Parcels'): string =>
  `${ROOT}/${service}/FeatureServer/extractChanges?serverGens=${serverGens}${more}`

const edited = (changesUrl: string, eventType = 'FeaturesCreated', more = {}): StoredDelivery =>
  stored({ changesUrl, events: [{ eventType, when: 1_730_385_704_000 }], ...more })

/** Handles deliveries. Returns the calls of one handler. */
async function callsFor(deliveries: StoredDelivery[], changeTypes = '*') {
  const calls: { event: WebhookEvent; id: string; context: HandlerContext }[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on(changeTypes, (event, { id }, context) =>
    calls.push({ event, id, context }),
  )
  const results = await receiverPort(receiver).handleTogether(deliveries)
  return { calls, results }
}

it('joins the events of a service into the newest event, in the order of receipt', async () => {
  const first = edited(urlOf('[10,12]', '&returnUpdates=false'))
  const second = edited(urlOf('[12,19]'), 'FeaturesDeleted')
  const { calls, results } = await callsFor([second, first])
  expect(results).toEqual(['handled', 'handled'])
  expect(calls.map(({ event, id }) => [event.changeType, id])).toEqual([['FeaturesDeleted', second.id]])
  const { searchParams } = new URL(calls[0]?.event.changesUrl ?? '')
  expect([searchParams.get('serverGens'), searchParams.get('returnupdates')]).toEqual(['[10,19]', null])
  const { deliveries, events } = calls[0]?.context.together ?? { deliveries: [], events: [] }
  expect(deliveries.map(({ id }) => id)).toEqual([first.id, second.id])
  expect(events.map(({ changeType }) => changeType)).toEqual(['FeaturesCreated', 'FeaturesDeleted'])
})

it('leaves a single changesUrl as it is', async () => {
  const changesUrl = urlOf('[10,12]', '&Async=true')
  const { calls } = await callsFor([edited(changesUrl)])
  expect(calls.map(({ event }) => event.changesUrl)).toEqual([changesUrl])
})

it('passes the events of each tenant separately, although they are about the same service', async () => {
  const of = (tenant: string | undefined, gens: string) => ({
    ...edited(urlOf(gens)),
    ...(tenant !== undefined && { tenant }),
  })
  const { calls } = await callsFor([
    of('a', '[1,2]'),
    of('b', '[2,3]'),
    of('a', '[3,4]'),
    of(undefined, '[4,5]'),
  ])
  expect(calls.map(({ event }) => new URL(event.changesUrl ?? '').searchParams.get('serverGens'))).toEqual([
    '[1,4]',
    '[2,3]',
    '[4,5]',
  ])
  expect(calls.map(({ context }) => context.together?.deliveries.map(({ tenant }) => tenant))).toEqual([
    ['a', 'a'],
    ['b'],
    [undefined],
  ])
})

it('passes the events of each version of the data separately', async () => {
  const version = (name: string, gens: string) => edited(urlOf(gens, `&gdbVersion=${name}`))
  const { calls } = await callsFor([version('A', '[1,2]'), version('B', '[2,3]'), version('A', '[3,4]')])
  expect(calls.map(({ event }) => new URL(event.changesUrl ?? '').searchParams.get('serverGens'))).toEqual([
    '[1,4]',
    '[2,3]',
  ])
})

it.each([
  ['&returnIdsOnly=true', '', null],
  ['&returnIdsOnly=true', '&returnIdsOnly=true', 'true'],
  ['&returnExtentOnly=true', '&returnExtentOnly=false', null],
  ['&geometry=1', '&geometry=2', null],
  ['&geometry=1', '&geometry=1', '1'],
  ['', '&layerQueries=x', null],
])('asks for everything that %s and %s ask for', async (first, second, expected) => {
  const { calls } = await callsFor([edited(urlOf('[1,2]', first)), edited(urlOf('[2,3]', second))])
  const name = (first || second).replace(/&|=.*/g, '').toLowerCase()
  expect(new URL(calls[0]?.event.changesUrl ?? '').searchParams.get(name)).toBe(expected)
})

it('keeps the layerId only if it is that of all events', async () => {
  const layer = (layerId: number) =>
    edited(urlOf('[1,2]', `&layers=${layerId}`), 'FeaturesCreated', { layerId })
  expect((await callsFor([layer(3), layer(3)])).calls[0]?.event.layerId).toBe(3)
  const { calls } = await callsFor([layer(3), layer(4)])
  expect(calls[0]?.event).not.toHaveProperty('layerId')
  expect(new URL(calls[0]?.event.changesUrl ?? '').searchParams.get('layers')).toBe('3,4')
})

it('passes the events of other services, and events without a changesUrl, separately', async () => {
  const roads = edited(urlOf('[1,2]', '', 'Roads'))
  const job = stored({
    jobId: 'j1',
    events: [{ eventType: 'esriJobSucceeded' }, { eventType: 'esriJobFailed' }],
  })
  const { calls } = await callsFor([edited(urlOf('[1,2]')), roads, job, edited(urlOf('[2,3]'))])
  expect(calls.map(({ event, context }) => [event.changeType, context.together?.events.length])).toEqual([
    ['FeaturesCreated', 1],
    ['esriJobSucceeded', 1],
    ['esriJobFailed', 1],
    ['FeaturesCreated', 2],
  ])
})

it('calls a handler only with the events of its change types, and reports the other deliveries as unhandled', async () => {
  const { calls, results } = await callsFor(
    [edited(urlOf('[1,2]'), 'FeaturesCreated'), edited(urlOf('[2,3]'), 'FeaturesDeleted')],
    'FeaturesCreated',
  )
  expect(results).toEqual(['handled', 'unhandled'])
  expect(calls.map(({ event }) => event.changesUrl)).toEqual([urlOf('[1,2]')])
})

it('gives all handlers of an attempt the same signal, and runs onSuccess functions once all have succeeded', async () => {
  const order: string[] = []
  const signals: AbortSignal[] = []
  const receiver = createReceiver({ signatureKey: KEY })
  for (const name of ['first', 'second'])
    receiver.on('*', (_, __, { signal, onSuccess }) => {
      order.push(name)
      signals.push(signal)
      onSuccess(() => order.push(`${name} function`))
    })
  await receiverPort(receiver).handleTogether([edited(urlOf('[1,2]')), edited(urlOf('[2,3]'))])
  expect(order).toEqual(['first', 'second', 'second function', 'first function'])
  expect(signals[0]).toBe(signals[1])
})

it('passes on that the delivery is a rerun', async () => {
  const contexts: HandlerContext[] = []
  const receiver = createReceiver({ signatureKey: KEY }).on('*', (_, __, context) => contexts.push(context))
  const context = { signal: new AbortController().signal, attempt: 1, rerun: true } as const
  await receiverPort(receiver).handleTogether([edited(urlOf('[1,2]'))], context)
  expect(contexts).toMatchObject([{ rerun: true }])
})

it('runs the other handlers if one fails, but no onSuccess function', async () => {
  const order: string[] = []
  const receiver = createReceiver({ signatureKey: KEY })
    .on('*', (_, __, { onSuccess }) => {
      onSuccess(() => order.push('function'))
      throw new Error('broken')
    })
    .on('*', () => order.push('second'))
  await expect(receiverPort(receiver).handleTogether([edited(urlOf('[1,2]'))])).rejects.toThrow('broken')
  expect(order).toEqual(['second'])
})

it('rejects a list with something else than deliveries, and a receiver without handlers', async () => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
  const invalid = { code: 'config_invalid' }
  await expect(receiverPort(receiver).handleTogether([{} as never])).rejects.toMatchObject(invalid)
  const empty = createReceiver({ signatureKey: KEY })
  await expect(receiverPort(empty).handleTogether([edited(urlOf('[1,2]'))])).rejects.toMatchObject(invalid)
})
