import { text } from 'node:stream/consumers'
import { createReceiver, type StoredDelivery } from 'geohook'
import { type Changes, createChanges } from 'geohook/changes'
import { createMemoryInbox } from 'geohook/inbox'
import { onTestFinished } from 'vitest'
import { deliver, KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'
import { FAST } from './support.ts'

/** How long to poll for a result on a busy machine. */
export const PATIENT = { timeout: 60_000 }

/** What a service of {@link startWindows} answers. Tests change it. */
interface Answers {
  /** The current generation. */
  current: number
  layers: number[]
  /** The layers whose generations an extraction returns. Default: all. */
  returned?: number[]
  /** Answers in place of the service. */
  describe?: () => object
  extract?: () => object
}

/** The window of each layer, as {@link startWindows} returns it in place of features. */
export const windowsOf = ({ layers }: Changes): unknown[] =>
  layers.flatMap(({ adds }) => adds.map(({ attributes }) => attributes.window))

/**
 * Starts a service whose extractions return their window as a feature, a client of it, and a receiver that runs its
 * handlers before it responds.
 */
export async function startWindows(services = ['Parcels']) {
  const answers: Answers = { current: 100, layers: [0] }
  /** The requests, as the name of the service and a window, or `describe`. */
  const requests: string[] = []
  const server = await serve(async (req, res) => {
    const fields = new URLSearchParams(await text(req))
    const [, , , name] = (req.url ?? '').split('/')
    const isExtraction = req.url?.endsWith('/extractChanges')
    const window = [fields.get('serverGens'), ...(fields.get('layers') ?? [])].join(' ')
    requests.push(`${name} ${isExtraction ? window : 'describe'}`)
    const { current, layers, returned = layers } = answers
    const ids = fields.get('layers')?.split(',').map(Number) ?? layers
    const answer = isExtraction
      ? (answers.extract?.() ?? {
          layerServerGens: returned.map((id) => ({ id, serverGen: current })),
          edits: ids.map((id) => ({ id, features: { adds: [{ attributes: { window } }] } })),
        })
      : (answers.describe?.() ?? {
          changeTrackingInfo: {
            layerServerGens: layers.map((id) => ({ id, minServerGen: 0, serverGen: current })),
          },
        })
    res.end(JSON.stringify(answer))
  })
  const urls = services.map((name) => `${server.url}/rest/services/${name}/FeatureServer`)
  const inbox = createMemoryInbox()
  onTestFinished(() => inbox.close())
  const changes = createChanges({ origins: [server.url], inbox, pollInterval: FAST })
  const receiver = createReceiver({ signatureKey: KEY, observer: { failed() {} } })
  const bodyOf = (window: string, eventType = 'FeaturesEdited', query = ''): string => {
    const changesUrl = `${urls[0]}/extractChanges?serverGens=${window}${query}`
    return JSON.stringify({ serviceName: 'Parcels', changesUrl, events: [{ eventType, when: Date.now() }] })
  }
  /** Sends a delivery with one event. @returns the status of the response */
  const send = async (...args: Parameters<typeof bodyOf>): Promise<number> =>
    (await deliver(receiver, bodyOf(...args))).status
  /** Creates a delivery as an inbox stores it. */
  const stored = (...args: Parameters<typeof bodyOf>): StoredDelivery => ({
    id: `${number++}`.padStart(32, '0'),
    rawBody: new TextEncoder().encode(bodyOf(...args)),
    contentType: 'application/json',
    headers: {},
    receivedAt: new Date(),
    profile: 'service',
  })
  return { url: urls[0] as string, urls, answers, requests, inbox, changes, receiver, send, stored }
}

let number = 0
