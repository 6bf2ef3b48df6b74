import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { serve } from '../helpers/served.ts'
import { toEvent } from './support.ts'

it('reads characters that are split between the chunks of a response', async () => {
  const attributes = { OBJECTID: 1, name: 'Λιμάνι 港 🛟' }
  const document = Buffer.from(JSON.stringify({ edits: [{ id: 0, features: { adds: [{ attributes }] } }] }))
  const server = await serve(async (_, res) => {
    for (const byte of document) {
      res.write(Uint8Array.of(byte))
      await new Promise(setImmediate)
    }
    res.end()
  })
  const changes = createChanges({ origins: [server.url] })
  const event = toEvent(`${server.url}/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1,2]`)
  const { layers } = await changes.of(event)
  expect(layers[0]?.adds).toEqual([{ attributes }])
})
