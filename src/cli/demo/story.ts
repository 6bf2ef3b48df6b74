import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type * as http from 'node:http'
import { webhook } from '../../adapters/node.ts'
import { createReceiver } from '../../index.ts'
import { createMockService, type MockService } from '../../mock/index.ts'
import { createPayload, createSigner } from '../../testing/index.ts'
import { startServer } from '../io/server.ts'
import type { Io } from '../terminal/io.ts'

const WEBHOOK_ID = 'c4a7db24-0c5e-4a00-9103-0c7d2fdc03b4'
const PATH = '/hooks/parcels'
const NEW_PATH = '/hooks/parcels-v2'
const SERVICE = { serviceName: 'Parcels', serviceType: 'FeatureServer' } as const

/**
 * Runs the demo: sends deliveries from a mock service to a receiver, on free ports. Each step asserts its result.
 *
 * @param open keeps the servers running until Ctrl-C, to look at the deliveries in the inspector
 * @throws {AssertionError}
 */
export async function playStory(io: Io, open: boolean): Promise<void> {
  const stopped = open ? io.untilStopped() : undefined
  const tell = createNarrator(io)
  io.print('geohook: how a signed delivery reaches your handler, and a forged one does not')
  const [firstKey, secondKey] = [1, 2].map(() => randomBytes(24).toString('hex')) as [string, string]
  const results: string[] = []
  const listeners: Record<string, ReturnType<typeof webhook> | undefined> = {
    [PATH]: createListener(tell, PATH, firstKey, results),
    [NEW_PATH]: createListener(tell, NEW_PATH, secondKey, results),
  }
  const listener: http.RequestListener = (req, res) => void listeners[req.url ?? '']?.(req, res)
  const app = await startServer(listener, 0, '127.0.0.1')
  const service = createMockService({
    settings: { notificationAttempts: 1 }, // the demo does not wait for retries
    webhooks: [
      {
        ...SERVICE,
        id: WEBHOOK_ID,
        name: 'parcel edits',
        hookUrl: `${app.url}${PATH}`,
        signatureKey: firstKey,
        changeTypes: ['FeaturesCreated', 'FeaturesUpdated'],
      },
    ],
  })
  try {
    await playSteps(tell, service, app.url, secondKey, results)
    io.print('\nEvery step succeeded.')
    if (stopped) {
      await sendMore(tell, service, `${app.url}${NEW_PATH}`, secondKey)
      io.print(`The inspector shows the deliveries at ${service.url}/ (Ctrl-C stops it)`)
      await stopped
    } else if (io.host.stdout.isTTY) {
      io.print(`The inspector showed the deliveries at ${service.url}/`)
      io.print('To keep it running: npm start -- --open, or geohook demo --open')
    }
  } finally {
    await service.close()
    await app.close()
  }
}

/** Leaves a webhook, so that the page can trigger events, and a delivery that was refused. */
async function sendMore(
  { step }: Narrator,
  service: MockService,
  hookUrl: string,
  signatureKey: string,
): Promise<void> {
  await post(service, 'create', { name: 'parcel edits', hookUrl, signatureKey })
  step('Another webhook is created. One of its two deliveries is altered on the way.')
  await service.trigger({ ...SERVICE, changeType: 'FeaturesCreated' })
  service.faults.add({ fault: 'altered', times: 1 })
  await service.trigger({ ...SERVICE, changeType: 'FeaturesDeleted' })
}

async function playSteps(
  tell: Narrator,
  service: MockService,
  receiverUrl: string,
  secondKey: string,
  results: string[],
): Promise<void> {
  const { step, say } = tell
  step('A map service and your app start. They share a secret key.')
  const serviceUrl = await service.listen()
  say('service', `${serviceUrl} has the feature service Parcels, and one webhook that points at your app`)
  say('your app', `${receiverUrl}${PATH} is its payload URL`)

  async function trigger(changeType: string): Promise<void> {
    const [attempt] = await service.trigger({ ...SERVICE, changeType })
    const status = attempt?.answer?.status
    say('service', `sent ${attempt?.request.body.length} bytes to ${attempt?.hookUrl}, response ${status}`)
    assert.equal(status, 200)
  }

  step('A user draws a parcel. The service signs a delivery and sends it.')
  await trigger('FeaturesCreated')
  assert.deepEqual(results.splice(0), ['handled FeaturesCreated at /hooks/parcels'])

  step('The administrator edits the webhook: a new payload URL and a new key.')
  const edited = await post(service, `${WEBHOOK_ID}/edit`, {
    name: 'parcel edits',
    changeTypes: 'FeaturesCreated,FeaturesUpdated',
    hookUrl: `${receiverUrl}${NEW_PATH}`,
    signatureKey: secondKey,
  })
  say('service', `edit: ${edited.status}, the webhook now points at ${edited.hookUrl}`)
  assert.equal(edited.status, 'success')

  step('A parcel changes. The very next delivery uses both.')
  await trigger('FeaturesUpdated')
  assert.deepEqual(results.splice(0), ['handled FeaturesUpdated at /hooks/parcels-v2'])

  step('An attacker changes one byte of a signed delivery.')
  const signer = createSigner({ signatureKey: secondKey })
  const { method, headers, bytes } = await signer.sign(createPayload('FeaturesCreated'))
  bytes[bytes.length - 20] = (bytes[bytes.length - 20] as number) ^ 1
  await sendForged(tell, `${receiverUrl}${NEW_PATH}`, { method, headers, body: bytes })
  assert.deepEqual(results.splice(0), ['refused signature_mismatch at /hooks/parcels-v2'])

  step('An attacker sends a delivery without a signature.')
  await sendForged(tell, `${receiverUrl}${NEW_PATH}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(createPayload('FeaturesCreated')),
  })
  assert.deepEqual(results.splice(0), ['refused signature_missing at /hooks/parcels-v2'])

  step('The administrator deletes the webhook. Another parcel is drawn.')
  const deleted = await post(service, `${WEBHOOK_ID}/delete`, {})
  say('service', `delete: ${deleted.status}`)
  assert.equal(deleted.status, 'success')
  const nothing = await service.trigger({ ...SERVICE, changeType: 'FeaturesCreated' })
  assert.equal(nothing.length, 0)
  assert.deepEqual(results, [])
  say('service', 'sent nothing')
  say('your app', 'received nothing')
}

/** Creates a receiver that prints each result and appends it to `results`. */
function createListener(
  { say }: Narrator,
  path: string,
  signatureKey: string,
  results: string[],
): ReturnType<typeof webhook> {
  const receiver = createReceiver({
    signatureKey,
    observer: {
      refused({ error }) {
        results.push(`refused ${error.code} at ${path}`)
        say('your app', `refused: ${error.code}. ${error.hint}`)
      },
    },
  }).on('*', (event) => {
    results.push(`handled ${event.changeType} at ${path}`)
    say('your app', `verified; its handler got ${event.changeType} on ${event.service.serviceName}`)
  })
  return webhook(receiver)
}

async function sendForged({ say }: Narrator, url: string, request: RequestInit): Promise<void> {
  const response = await fetch(url, request)
  say('attacker', `received ${response.status} ${await response.text()}`)
  assert.equal(response.status, 401)
}

async function post(
  { url }: MockService,
  path: string,
  parameters: Record<string, string>,
): Promise<Record<string, unknown>> {
  const body = new URLSearchParams({ ...parameters, f: 'json' })
  const response = await fetch(`${url}/services/Parcels.FeatureServer/webhooks/${path}`, {
    method: 'POST',
    body,
  })
  return (await response.json()) as Record<string, unknown>
}

/** Prints the numbered steps of the demo, and who does what in them. */
type Narrator = ReturnType<typeof createNarrator>

function createNarrator(io: Io) {
  let steps = 0
  return {
    step: (title: string) => io.print(`\n${++steps}. ${title}`),
    say: (who: string, what: string) => io.print(`   ${who.padEnd(9)} ${what}`),
  }
}
