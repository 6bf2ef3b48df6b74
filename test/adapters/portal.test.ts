import { createReceiver } from 'geohook'
import { createPayload } from 'geohook/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { MOUNTS } from '../helpers/mounts.ts'
import { createRecorder } from '../helpers/recorder.ts'

const BODY = JSON.stringify(createPayload('add', { dialect: 'organization' }))

describe.each(Object.entries(MOUNTS).filter(([name]) => /Express 5|fetch|Lambda|Fastify/.test(name)))(
  'a portal receiver in %s',
  (_, { mount }) => {
    it('accepts the key in the header secret, refuses another, and never shows either', async () => {
      const recorder = createRecorder()
      const receiver = createReceiver({
        profile: 'portal',
        signatureKey: KEY,
        observer: recorder.observer,
      }).on('*', () => {})
      const { url, close } = await mount(receiver)
      onTestFinished(close)
      const statusOf = async (headers: object, body = BODY) =>
        (await send(url, { headers: { 'content-type': JSON_TYPE, ...headers }, body })).status
      expect(await statusOf({ secret: KEY })).toBe(200)
      expect(await statusOf({ Secret: 'a wrong secret' })).toBe(401)
      expect(await statusOf({})).toBe(401)
      expect(await statusOf({}, '{"WebhookRegistry":{}}')).toBe(200)
      expect(recorder.lines).toEqual([
        'accepted',
        'handled',
        'refused signature_mismatch',
        'refused signature_missing',
        'handshake',
      ])
      expect(JSON.stringify(recorder.calls)).not.toMatch(new RegExp(`${KEY}|a wrong secret`))
    })
  },
)
