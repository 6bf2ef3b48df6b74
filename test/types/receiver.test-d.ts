import { type } from 'arktype'
import express from 'express'
import {
  createReceiver,
  type Delivery,
  type HostedPayload,
  type Observer,
  type OrganizationPayload,
  type Outcome,
  type ReceiverOptions,
  type ReceiverStats,
  type ServicePayload,
  type StandardSchema,
  service,
  type WebhookEvent,
} from 'geohook'
import { webhook } from 'geohook/express'
import { keyring } from 'geohook/node'
import { createOtelObserver } from 'geohook/otel'
import * as v from 'valibot'
import { expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { JobEvent } from '../../src/payload/events.ts'

const receiver = createReceiver({ signatureKey: 'k' })

it('a known change type narrows the event', () => {
  receiver.on('FeaturesCreated', (event, delivery) => {
    expectTypeOf(event.changeType).toEqualTypeOf<'FeaturesCreated'>()
    expectTypeOf(event.when).toEqualTypeOf<Date | undefined>()
    expectTypeOf(delivery).toEqualTypeOf<Delivery<unknown>>()
    expectTypeOf(delivery.tenant).toEqualTypeOf<string | undefined>()
    // @ts-expect-error a handler for FeaturesCreated never gets FeaturesDeleted
    if (event.changeType === 'FeaturesDeleted') return
  })
})

it('several change types narrow the event to their union, and FeaturesEdited includes the types it covers', () => {
  receiver.on(['FeaturesUpdated', 'FeaturesDeleted'], (event) => {
    expectTypeOf(event.changeType).toEqualTypeOf<'FeaturesUpdated' | 'FeaturesDeleted'>()
  })
  receiver.on('FeaturesEdited', (event) => {
    expectTypeOf(event.changeType).toEqualTypeOf<
      'FeaturesEdited' | 'FeaturesCreated' | 'FeaturesUpdated' | 'FeaturesDeleted'
    >()
  })
  receiver.on('*', (event) => expectTypeOf(event).toEqualTypeOf<WebhookEvent<string>>())
})

it('any other string is allowed as a change type', () => {
  receiver.on('FeaturesCraeted', (event) => expectTypeOf(event.changeType).toEqualTypeOf<'FeaturesCraeted'>())
  receiver.on('Mine' as string, (event) => expectTypeOf(event.changeType).toEqualTypeOf<string>())
  // @ts-expect-error a change type is a string
  receiver.on(7, () => {})
  // @ts-expect-error a handler is a function
  receiver.on('FeaturesCreated', 'log')
})

it('editors autocomplete the known change types', () => {
  type On = Parameters<typeof receiver.on<'FeaturesCreated' | 'esriJobSucceeded' | 'PostPerformed'>>[0]
  expectTypeOf<'FeaturesCreated'>().toExtend<On>()
})

it('a schema types the payload', () => {
  const typed = createReceiver({ signatureKey: 'k', schema: z.object({ serviceName: z.string() }) })
  typed.on('*', (_, { payload }) => {
    expectTypeOf(payload).toEqualTypeOf<{ serviceName: string }>()
    // @ts-expect-error no such member
    payload.serviceNme
  })
  expectTypeOf(z.object({ a: z.number() })).toExtend<StandardSchema<{ a: number }>>()
  // @ts-expect-error not a schema
  createReceiver({ signatureKey: 'k', schema: { parse: () => 1 } })
})

it('the output type of a schema from any library is the payload type', () => {
  const length = (text: string): number => text.length
  const schemas = {
    zod: z.object({ name: z.string().transform(length) }),
    valibot: v.object({ name: v.pipe(v.string(), v.transform(length)) }),
    arktype: type({ name: type.string.pipe(length) }),
  }
  createReceiver({ signatureKey: 'k', schema: schemas.zod }).on('*', (_, { payload }) => {
    expectTypeOf(payload).toEqualTypeOf<{ name: number }>()
  })
  createReceiver({ signatureKey: 'k', schema: schemas.valibot }).on('*', (_, { payload }) => {
    expectTypeOf(payload).toEqualTypeOf<{ name: number }>()
  })
  createReceiver({ signatureKey: 'k', schema: schemas.arktype }).on('*', (_, { payload }) => {
    expectTypeOf(payload).toEqualTypeOf<{ name: number }>()
  })
})

it('an observer does not change the payload type of the schema', () => {
  const schema = z.object({ name: z.string() })
  for (const observer of [{} as Observer, createOtelObserver()]) {
    createReceiver({ signatureKey: 'k', schema, observer }).on('*', (_, { payload }) => {
      expectTypeOf(payload).toEqualTypeOf<{ name: string }>()
    })
  }
  createReceiver({
    signatureKey: 'k',
    schema,
    observer: {
      handled({ delivery, milliseconds, outcome }) {
        expectTypeOf(delivery.payload).toEqualTypeOf<{ name: string }>()
        expectTypeOf(milliseconds).toEqualTypeOf<number>()
        expectTypeOf(outcome).toEqualTypeOf<Outcome>()
      },
      // @ts-expect-error no such function
      handeled() {},
    },
  })
  expectTypeOf(createReceiver({ signatureKey: 'k' }).stats()).toEqualTypeOf<Promise<ReceiverStats>>()
})

it('invalid options are type errors', () => {
  // @ts-expect-error an unknown encoding
  createReceiver({ signatureKey: 'k', encoding: 'utf8' })
  // @ts-expect-error a misspelt option
  createReceiver({ signaturKey: 'k' })
  // @ts-expect-error a boolean is not allowed
  createReceiver({ signatureKey: 'k', unsigned: true })
  createReceiver({ signatureKey: keyring('keys.json') })
  createReceiver({ signatureKey: async ({ params }) => params?.tenant as string })
  createReceiver({ signatureKey: () => ({ keys: ['new', new Uint8Array(32)], tenant: 'a' }) })
  createReceiver({ signatureKey: async () => ({ keys: undefined, tenant: 'a' }) })
  // @ts-expect-error the tenant is missing
  createReceiver({ signatureKey: () => ({ keys: 'k' }) })
  // @ts-expect-error the keys are missing
  createReceiver({ signatureKey: () => ({ tenant: 'a' }) })
  // @ts-expect-error the tenant may be missing
  createReceiver({ signatureKey: ({ params }) => ({ keys: 'k', tenant: params?.tenant }) })
  // @ts-expect-error an unknown profile
  createReceiver({ signatureKey: 'k', profile: 'esri' })
  createReceiver({ signatureKey: 'k', profile: 'arcgis' })
  createReceiver({ signatureKey: 'k', profile: { ...service, name: 'mine' } })
})

it('the options say who may send deliveries', () => {
  createReceiver({ signatureKey: process.env.SIGNATURE_KEY })
  createReceiver({ signatureKey: process.env.SIGNATURE_KEY, unsigned: 'accept' })
  createReceiver({ unsigned: 'accept' })
  // @ts-expect-error the key is missing
  createReceiver({})
  // @ts-expect-error the key is missing
  createReceiver()
  // @ts-expect-error the key is missing
  createReceiver({ limit: '1mb' })
  // @ts-expect-error the key is missing
  createReceiver({ unsigned: 'reject' })
  // @ts-expect-error the key is missing
  webhook({})
  webhook({ signatureKey: process.env.SIGNATURE_KEY })
})

it('the options can be passed on', () => {
  const create = (options: ReceiverOptions) => createReceiver({ limit: 1, ...options })
  const withKey = (options: Partial<ReceiverOptions>) => createReceiver({ signatureKey: 'k', ...options })
  expectTypeOf(create({ profile: 'arcgis', signatureKey: 'k' })).toEqualTypeOf(withKey({ profile: 'arcgis' }))
})

it('fetch is assignable to the handler types of the platforms that call it', () => {
  type Handler<Context> = (request: Request, context: Context) => Promise<Response>
  expectTypeOf(receiver.fetch).toExtend<Handler<{ remoteAddr: unknown }>>() // Deno
  expectTypeOf(receiver.fetch).toExtend<
    (request: Request, env: { DB: string }, ctx: { waitUntil(): void }) => Promise<Response>
  >()
  expectTypeOf(receiver.fetch).toExtend<Handler<{ params: Promise<{ slug: string[] }> }>>() // Next.js
})

it('webhook() is an Express handler, and types req.delivery', () => {
  express().post('/hook', webhook({ signatureKey: 'k' }), (req, res) => {
    expectTypeOf(req.delivery).toEqualTypeOf<Delivery | undefined>()
    res.json(req.delivery?.changeTypes)
  })
  express().use(webhook(receiver))
})

it('a job result has the names of the job', () => {
  receiver.on('esriJobSucceeded', (event) => {
    expectTypeOf(event).toEqualTypeOf<JobEvent<'esriJobSucceeded'>>()
    expectTypeOf(event.jobId).toEqualTypeOf<string>()
    expectTypeOf(event.taskName).toEqualTypeOf<string>()
    expectTypeOf(event.statusUrl).toEqualTypeOf<string | undefined>()
  })
  receiver.on(['esriJobFailed', 'FeaturesCreated'], (event) => {
    expectTypeOf(event.jobId).toEqualTypeOf<string | undefined>()
    if (event.changeType === 'esriJobFailed') expectTypeOf(event.jobId).toEqualTypeOf<string>()
  })
  receiver.on('*', (event) => expectTypeOf(event.jobId).toEqualTypeOf<string | undefined>())
})

it('the payloads of each dialect have a type', () => {
  receiver.on('*', (_, { payload }) => {
    const service = payload as ServicePayload
    expectTypeOf(service.events[0]?.when).toEqualTypeOf<number | undefined>()
    if (service.serviceType === 'GPServer') expectTypeOf(service.statusURL).toEqualTypeOf<string>()
    else expectTypeOf(service.id).toEqualTypeOf<string>()
    expectTypeOf((payload as HostedPayload)[0]?.layerId).toEqualTypeOf<number | undefined>()
    expectTypeOf((payload as OrganizationPayload).events[0]?.operation).toEqualTypeOf<string | undefined>()
  })
})
