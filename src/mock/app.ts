import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { configInvalid } from '../errors.ts'
import { type ChangeType, subscriptionsOf } from '../payload/change-types.ts'
import { administration } from './administration/routes.ts'
import { type Attempt, createSender } from './delivery/deliver.ts'
import { createFailureLog } from './failures.ts'
import { type MockServiceOptions, toOptions } from './options.ts'
import { createServiceRegistry } from './services.ts'
import { restoreSnapshot, type Snapshot, type State, toSnapshot } from './snapshot.ts'
import { createWebhookStore } from './webhooks.ts'

/** Something that happens on a service. */
export interface MockEvent {
  serviceName: string
  /** Needed where a geoprocessing and a feature service share the name. */
  serviceType?: 'FeatureServer' | 'GPServer' | undefined
  folderName?: string | undefined
  /** What happened, for example `'FeaturesCreated'` or `'esriJobSucceeded'`. */
  changeType: ChangeType
  /** Milliseconds since 1970. Default: now. */
  when?: number | undefined
  jobId?: string | undefined
  taskName?: string | undefined
}

/** A service for tests: it keeps webhooks, answers edit and delete, and really sends deliveries. */
export interface MockService {
  /** The administration, to be mounted elsewhere. */
  readonly app: RequestListener
  /** The base address while it listens; empty before and after. */
  readonly url: string
  /** Every attempt so far (the last thousand), oldest first. */
  readonly deliveries: readonly Attempt[]
  /**
   * Listens on 127.0.0.1, once.
   *
   * @param port 0 to 65535; default 0, any free port
   * @returns the base address
   * @throws {WebhookError} `config_invalid` where it was called before; Node's error where the port is taken
   */
  listen(port?: number): Promise<string>
  /**
   * Lets something happen: every active webhook that selects it gets a delivery.
   *
   * @returns the attempts, when all are answered or have failed; whatever a receiver does, it is recorded in them
   * @throws {WebhookError} `config_invalid` where there is no such service, or `signature` cannot be right
   */
  trigger(event: MockEvent): Promise<Attempt[]>
  /** Copies of all services and webhooks, with their keys. */
  snapshot(): Snapshot
  /** Stops listening at once, and waits for deliveries that are under way; later ones fail. */
  close(): Promise<void>
}

/**
 * Makes a mock of the specification's service.
 *
 * @throws {WebhookError} `config_invalid` for two webhooks with one id, or with one name in one service, or a key
 *   with white space around it
 * @example
 * ```ts
 * import { createMockService } from 'geohook/mock'
 *
 * const service = createMockService({
 *   webhooks: [{
 *     serviceName: 'Parcels', serviceType: 'FeatureServer', name: 'edits',
 *     hookUrl: 'http://127.0.0.1:3000/hooks/parcels', signatureKey: 'parcels2026',
 *   }],
 * })
 * await service.listen(4000)
 * await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
 * ```
 */
export function createMockService(options: MockServiceOptions = {}): MockService {
  const settled = toOptions(options)
  const { clock, settings } = settled
  const state: State = {
    services: createServiceRegistry(),
    webhooks: createWebhookStore({ now: clock.now, onChange: () => {} }),
    failures: createFailureLog(),
    settings,
  }
  const seed = { services: settled.services, webhooks: settled.webhooks }
  restoreSnapshot(state, seed, settings)
  const sender = createSender({ ...settled, clock: clock.now })
  const save = async (): Promise<void> => settled.save?.(toSnapshot(state))
  const app = express()
    .disable('x-powered-by')
    .use(administration({ state, options: settled, save }))
  let server: Server | undefined
  let url = ''

  return {
    app,
    get url() {
      return url
    },
    deliveries: sender.attempts,
    async listen(port = 0) {
      if (server) throw configInvalid('listen was called before')
      server = createServer(app)
      try {
        await once(server.listen(port, '127.0.0.1'), 'listening')
      } catch (error) {
        server = undefined // another port may be tried
        throw error
      }
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      return url
    },
    async trigger(event) {
      const service = state.services.resolve(event)
      const names = subscriptionsOf(event.changeType)
      const selected = state.webhooks
        .list(service)
        .filter((webhook) => webhook.active && webhook.changeTypes.some((name) => names.includes(name)))
      const { changeType, jobId, taskName, when = clock.now() } = event
      const details = { when, ...(jobId ? { jobId } : {}), ...(taskName ? { taskName } : {}) }
      return Promise.all(selected.map((webhook) => sender.deliver(webhook, [changeType], details)))
    },
    snapshot: () => toSnapshot(state),
    async close() {
      if (server?.listening) {
        url = ''
        server.close()
        // A request is answered as soon as it is whole; one that is not could hold this back for minutes.
        server.closeAllConnections()
        await once(server, 'close')
      }
      await sender.close()
    },
  }
}
