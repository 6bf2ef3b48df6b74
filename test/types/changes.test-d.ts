import {
  ApiKeyManager,
  ApplicationCredentialsManager,
  ArcGISIdentityManager,
} from '@esri/arcgis-rest-request'
import { createReceiver, type WebhookError } from 'geohook'
import {
  type Attachment,
  type Changes,
  ChangesError,
  createChanges,
  type Feature,
  type LayerChanges,
  readEditor,
  toGeoJson,
} from 'geohook/changes'
import type { Feature as GeoJson, Geometry } from 'geojson'
import { expectTypeOf, it } from 'vitest'

const origins = ['https://gis.example.com'] as const
const changes = createChanges({ origins })

interface Parcel {
  OBJECTID: number
  owner: string | null
}

it('handlers pass their event, delivery and context', () => {
  createReceiver({ signatureKey: 'k' }).on('FeaturesEdited', async (event, delivery, context) => {
    expectTypeOf(await changes.of(event, context)).toEqualTypeOf<Changes>()
    await changes.of(delivery, context)
    await changes.of(delivery.events, { signal: context.signal })
    await changes.of(event)
    // @ts-expect-error an event is not a URL
    await changes.of(event.changesUrl)
  })
})

it('attributes have the type that the caller names', async () => {
  const { layers } = await changes.of<Parcel>([])
  expectTypeOf(layers).toEqualTypeOf<LayerChanges<Parcel>[]>()
  for (const { adds, updates, deletes, attachments } of layers) {
    expectTypeOf(adds).toEqualTypeOf<Feature<Parcel>[]>()
    expectTypeOf(updates[0]?.attributes.owner).toEqualTypeOf<string | null | undefined>()
    expectTypeOf(deletes.ids).toEqualTypeOf<string[]>()
    expectTypeOf(attachments.adds).toEqualTypeOf<Attachment[]>()
    for (const feature of adds) {
      expectTypeOf(readEditor(feature).editedAt).toEqualTypeOf<Date | undefined>()
      expectTypeOf(toGeoJson(feature).properties).toEqualTypeOf<Parcel>()
    }
  }
})

it('without a type, attributes are unknown', async () => {
  const { layers } = await changes.of([])
  expectTypeOf(layers[0]?.adds[0]?.attributes.name).toEqualTypeOf<unknown>()
  for (const feature of layers[0]?.adds ?? [])
    expectTypeOf(toGeoJson(feature)).toExtend<GeoJson<Geometry | null>>()
})

it("a token is text, a function, or credentials of the vendor's client", () => {
  // @ts-expect-error an environment variable may be unset, and `undefined` throws
  createChanges({ origins, token: process.env.TOKEN })
  createChanges({ origins, token: () => 'a' })
  createChanges({ origins, token: async (url) => url })
  createChanges({ origins, token: ApiKeyManager.fromKey('a') })
  createChanges({ origins, token: new ArcGISIdentityManager({ username: 'a', password: 'b' }) })
  createChanges({
    origins,
    token: ApplicationCredentialsManager.fromCredentials({ clientId: 'a', clientSecret: 'b' }),
  })
  // @ts-expect-error origins are mandatory
  createChanges({ token: 'a' })
  // @ts-expect-error a misspelt option
  createChanges({ origins, timeOut: 1 })
})

it('a download is a stream', async () => {
  expectTypeOf(await changes.download({} as Attachment)).toEqualTypeOf<ReadableStream<Uint8Array>>()
})

it('errors are WebhookErrors with codes of their own', () => {
  expectTypeOf<ChangesError>().toExtend<WebhookError>()
  expectTypeOf<ChangesError['state']>().toEqualTypeOf<string | undefined>()
  const error: unknown = undefined
  if (error instanceof ChangesError) {
    // @ts-expect-error a code of the receiver
    if (error.code === 'signature_missing') throw error
    if (error.code === 'resync_required') throw error
  }
})
