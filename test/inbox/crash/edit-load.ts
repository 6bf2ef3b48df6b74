import { setTimeout } from 'node:timers/promises'
import { JSON_TYPE, signatureOf } from '../../helpers/deliver.ts'
import type { Sent } from './check.ts'
import type { Load } from './load.ts'
import { now } from './now.ts'
import type { Random } from './random.ts'

/** Milliseconds between two deliveries. */
const GAP = 20
/** Maximum number of deliveries in flight. */
const MAX_IN_FLIGHT = 50
/** Number of attempts to send a delivery, and milliseconds between them. */
const ATTEMPTS = 5
const RETRY_DELAY = 500

const SERVICES = ['Parcels', 'Roads', 'Trees']

/** Sends deliveries of feature services at a fixed rate. The windows of a service follow one another. */
export function startEditLoad(hookUrl: string, signatureKey: string, random: Random): Load {
  const { send, onAcknowledged } = createSender(hookUrl, signatureKey, random)
  const sending: Promise<Sent>[] = []
  let inFlight = 0

  async function sendNext(): Promise<Sent> {
    inFlight++
    const number = sending.length
    const sent = await send(number, SERVICES[number % SERVICES.length] ?? '')
    inFlight--
    return sent
  }

  const timer = setInterval(() => {
    if (inFlight < MAX_IN_FLIGHT) sending.push(sendNext())
  }, GAP)

  return {
    onAcknowledged,
    async stop() {
      clearInterval(timer)
      return Promise.all(sending)
    },
  }
}

/** Services of the load for the order, and number of its senders. */
const ORDERED_SERVICES = [...SERVICES, 'Lamps', 'Pipes']
const SENDERS = 6
/** Maximum milliseconds from a response to the next delivery of the same sender. */
const MAX_PAUSE = 400

/**
 * Sends deliveries of feature services from several senders. A sender sends its next delivery after the response to the
 * previous one, half of the time at once, so that the order of many deliveries of a service is known.
 */
export function startOrderedLoad(hookUrl: string, signatureKey: string, random: Random): Load {
  const { send, onAcknowledged } = createSender(hookUrl, signatureKey, random)
  const sent: Sent[] = []
  let number = 0
  let isStopped = false

  async function run(): Promise<void> {
    while (!isStopped) {
      const service = ORDERED_SERVICES[random.between(0, ORDERED_SERVICES.length - 1)] ?? ''
      sent.push(await send(number++, service))
      if (random.between(0, 1) === 1) await setTimeout(random.between(1, MAX_PAUSE))
    }
  }

  const senders = Array.from({ length: SENDERS }, run)
  return {
    onAcknowledged,
    async stop() {
      isStopped = true
      await Promise.all(senders)
      return sent
    },
  }
}

function createSender(hookUrl: string, signatureKey: string, random: Random) {
  const listeners = new Set<() => void>()

  function createBody(number: number, serviceName: string): string {
    const window = encodeURIComponent(`[${number},${number + SERVICES.length}]`)
    return JSON.stringify({
      serviceName,
      changesUrl: `https://gis.example.com/rest/services/${serviceName}/FeatureServer/extractChanges?serverGens=${window}`,
      jobId: `edit${number}`,
      taskName: 'x'.repeat(random.between(1, 250)),
      events: [{ eventType: 'FeaturesUpdated', when: Date.now() }],
    })
  }

  async function attempt(body: string): Promise<boolean> {
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body, signatureKey) }
    try {
      const response = await fetch(hookUrl, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response.ok
    } catch {
      return false // the receiver was killed
    }
  }

  async function send(number: number, service: string): Promise<Sent> {
    const body = createBody(number, service)
    const sent = { id: `edit${number}`, service, sentAt: now() }
    for (let left = ATTEMPTS; left > 0; left--) {
      if (await attempt(body)) {
        const answeredAt = now()
        for (const listener of listeners) listener()
        return { ...sent, acknowledged: true, answeredAt }
      }
      await setTimeout(RETRY_DELAY)
    }
    return { ...sent, acknowledged: false }
  }

  return {
    send,
    onAcknowledged(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
