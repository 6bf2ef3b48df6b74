import { createReceiver } from 'geohook'
import type { ChangesContext, ChangesInbox } from 'geohook/changes'
import { createPayload, createSigner } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { START } from '../mock/features/extract/support.ts'
import { type Service, startService } from './support.ts'

/** A store as an inbox has one. */
function createStore(): ChangesInbox & { stored: Map<string, Map<number, number>> } {
  const stored = new Map<string, Map<number, number>>()
  return {
    stored,
    get: async () => undefined,
    put: async () => 'stored' as const,
    generations: {
      get: async (service) => new Map(stored.get(service)),
      async raise(service, generations) {
        const known = stored.get(service) ?? new Map<number, number>()
        for (const [id, generation] of generations)
          known.set(id, Math.max(generation, known.get(id) ?? generation))
        stored.set(service, known)
      },
      replace: async (service, generations) => void stored.set(service, new Map(generations)),
    },
  }
}

interface Attempt extends ChangesContext {
  succeed(): Promise<void>
}

function createAttempt(): Attempt {
  const functions: (() => unknown)[] = []
  return {
    signal: new AbortController().signal,
    onSuccess: (run) => void functions.push(run),
    async succeed() {
      for (const run of functions) await run()
    },
  }
}

const names = ({ layers }: { layers: { adds: { attributes: Record<string, unknown> }[] }[] }): unknown[] =>
  layers.flatMap(({ adds }) => adds.map(({ attributes }) => attributes.name))

const window = (min: number, max: number): string => `serverGens=[${START + min},${START + max}]`

/** Adds a feature in a generation of its own. */
const add = (service: Service, name: string): Promise<unknown> =>
  service.post('/0/addFeatures', { features: [{ attributes: { name } }] })

describe('with an inbox', () => {
  it('an extraction begins at the last handled generation, and raises it after success', async () => {
    const service = await startService()
    const inbox = createStore()
    const changes = service.changes({ inbox })
    const first = createAttempt()
    await changes.of(service.event(window(0, 1)), first)
    expect(inbox.stored.size).toBe(0)
    await first.succeed()
    expect(inbox.stored.get(service.url)).toEqual(new Map([[0, START + 1]]))

    // The delivery of the feature three is lost; that of four announces only itself.
    await add(service, 'three')
    await add(service, 'four')
    const second = createAttempt()
    expect(names(await changes.of(service.event(window(2, 3)), second))).toEqual(['three', 'four'])
    await second.succeed()
    expect(inbox.stored.get(service.url)).toEqual(new Map([[0, START + 3]]))
  })

  it('a failed attempt does not raise the generations', async () => {
    const service = await startService()
    const inbox = createStore()
    await service.changes({ inbox }).of(service.event(window(0, 1)), createAttempt())
    expect(inbox.stored.size).toBe(0)
  })

  it('a delivery that is handled again extracts its whole window', async () => {
    const service = await startService()
    const inbox = createStore()
    await inbox.generations.raise(service.url, new Map([[0, START + 1]]))
    const attempt = createAttempt()
    expect(names(await service.changes({ inbox }).of(service.event(window(0, 1)), attempt))).toEqual([
      'one',
      'two',
    ])
    await attempt.succeed()
    expect(inbox.stored.get(service.url)).toEqual(new Map([[0, START + 1]]))
  })

  it('layers outside of the window have no effect, and are not raised', async () => {
    const service = await startService({
      services: [
        {
          serviceName: 'Parcels',
          serviceType: 'FeatureServer',
          layers: [
            {
              name: 'Parcels',
              geometryType: 'esriGeometryPoint',
              fields: [{ name: 'name', type: 'esriFieldTypeString' }],
            },
            { name: 'Owners' },
          ],
        },
      ],
    })
    const inbox = createStore()
    await inbox.generations.raise(service.url, new Map([[1, START]]))
    await add(service, 'three')
    const attempt = createAttempt()
    const event = service.event(`${window(1, 2)}&layers=0`)
    expect(names(await service.changes({ inbox }).of(event, attempt))).toEqual(['three'])
    await attempt.succeed()
    expect(inbox.stored.get(service.url)).toEqual(
      new Map([
        [0, START + 2],
        [1, START],
      ]),
    )
  })

  it('all kinds of changes are extracted, whatever the URL excludes', async () => {
    const service = await startService()
    const event = service.event(`${window(0, 9)}&returnInserts=false&returnAttachments=false`)
    expect(names(await service.changes().of(event))).toEqual([])
    expect(names(await service.changes({ inbox: createStore() }).of(event, createAttempt()))).toEqual([
      'one',
      'two',
    ])
  })

  it('of() without onSuccess is an error that says what to pass', async () => {
    const service = await startService()
    const changes = service.changes({ inbox: createStore() })
    for (const context of [undefined, {}, { signal: new AbortController().signal }])
      await expect(changes.of(service.event(), context)).rejects.toMatchObject({
        code: 'config_invalid',
        hint: expect.stringContaining('as a whole'),
      })
  })

  it('a stored generation above that of the service needs a resync', async () => {
    const service = await startService()
    const inbox = createStore()
    await inbox.generations.raise(service.url, new Map([[0, START + 1_000_000]]))
    service.service.faults.add({ fault: 'window_purged', times: 1 })
    await expect(service.changes({ inbox }).of(service.event(), createAttempt())).rejects.toMatchObject({
      code: 'resync_required',
      message: expect.stringContaining('was replaced'),
      hint: expect.stringContaining('resync'),
    })
  })

  it('inbox must have generations', async () => {
    const service = await startService()
    expect(() => service.changes({ inbox: {} as never })).toThrow('inbox must be an inbox of geohook')
  })
})

describe('one extraction for each attempt', () => {
  it('handlers of the same delivery share it', async () => {
    const service = await startService({ extractChanges: { answer: 'embedded' } })
    const steps: string[] = []
    const changes = service.changes({ observer: { around: ({ step }) => void steps.push(step) } })
    const results: unknown[] = []
    const receiver = createReceiver({ signatureKey: 'k' }).on('*', async (event, _delivery, context) => {
      results.push(await changes.of(event, context))
    })
    const payload = createPayload(['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted'], {
      serviceName: 'Parcels',
      serverUrl: `${service.origin}/rest`,
      serverGens: [START, START + 1],
    })
    const request = await createSigner({ signatureKey: 'k' }).sign(payload)
    const response = await receiver.fetch(new Request('http://here/', request))
    expect(response.status).toBe(200)
    expect(results).toHaveLength(3)
    expect(new Set(results).size).toBe(1)
    expect(steps).toEqual(['submit'])
  })

  it('a failed one is repeated by the next call', async () => {
    const service = await startService()
    service.service.faults.add({ fault: 'job_failed', times: 1 })
    const changes = service.changes()
    const attempt = createAttempt()
    await expect(changes.of(service.event(), attempt)).rejects.toMatchObject({ code: 'changes_failed' })
    expect(names(await changes.of(service.event(), attempt))).toEqual(['one', 'two'])
  })

  it('a signal alone shares nothing, because it can outlive an attempt', async () => {
    const service = await startService()
    const { signal } = new AbortController()
    const changes = service.changes()
    const first = await changes.of(service.event(), { signal })
    await add(service, 'three')
    expect(names(first)).toEqual(['one', 'two'])
    expect(names(await changes.of(service.event(), { signal }))).toEqual(['one', 'two', 'three'])
  })

  it('another attempt and another window are extracted on their own', async () => {
    const service = await startService()
    const changes = service.changes()
    const attempt = createAttempt()
    const first = await changes.of(service.event(), attempt)
    expect(await changes.of(service.event(), attempt)).toBe(first)
    expect(await changes.of(service.event(window(0, 5)), attempt)).not.toBe(first)
    expect(await changes.of(service.event(), createAttempt())).not.toBe(first)
  })
})
