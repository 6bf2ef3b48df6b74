import type { RequestListener } from 'node:http'
import { configInvalid } from '../errors.ts'
import { createInspector } from '../inspector/app.ts'
import { type Inspectable, SOURCE } from '../inspector/source.ts'
import { adminHandler } from './admin/routes.ts'
import { createControlHandler } from './control/operations.ts'
import type { DeliverySettings } from './delivery-settings.ts'
import { type Notice, warn } from './event-listeners.ts'
import type { Faults } from './faults/faults.ts'
import { createFeatureService, type FeatureService } from './feature-service.ts'
import { createFeatureHandler } from './features/routes.ts'
import { splitUrl } from './http/request.ts'
import { Listener } from './http/server.ts'
import { createMockSource } from './inspector/source.ts'
import type { MockServiceOptions } from './options.ts'
import { Mock } from './service.ts'
import type { MockEvent } from './state/events.ts'
import type { Attempt } from './state/records.ts'
import type { ServiceReference } from './state/services.ts'
import { type Snapshot, type SnapshotSeed, toSnapshot } from './state/snapshot.ts'
import { createWebhookMethods, type WebhookMethods } from './webhook-methods.ts'

/**
 * A service for tests: it stores webhooks, serves their administration, and sends signed deliveries over HTTP. Its
 * address shows the inspector, and `createInspector(service)` of `geohook/inspector` mounts it elsewhere.
 */
export interface MockService extends Inspectable, WebhookMethods {
  /** Handles all HTTP requests of the service; mount it in a server of your own. */
  readonly app: RequestListener
  /** Base URL while the service listens; otherwise empty. */
  readonly url: string
  /** The last thousand attempts, oldest first, as a new array on each access. */
  readonly deliveries: readonly Attempt[]
  /** Faults to inject into the next deliveries. */
  readonly faults: Faults
  /** The current delivery settings. */
  readonly settings: Readonly<DeliverySettings>
  /**
   * Listens on 127.0.0.1. Can be called once.
   *
   * @param port 0 to 65535; default 0, any free port
   * @returns the base URL
   * @throws {WebhookError} `config_invalid` if it was called before; Node's error if the port is in use
   */
  listen(port?: number): Promise<string>
  /**
   * Triggers an event: every active webhook that is subscribed to it gets a delivery, immediately or when its window
   * closes. Events in one array are sent in one delivery.
   *
   * @returns all attempts of these deliveries, once the last has ended; failures of receivers are recorded, not thrown
   * @throws {WebhookError} `config_invalid` for an unknown service, or an event that is impossible on it
   */
  trigger(events: MockEvent | readonly MockEvent[]): Promise<Attempt[]>
  /**
   * The features of a feature service, to edit and read them.
   *
   * @param service its name, or name and folder
   * @throws {WebhookError} `config_invalid` if there is no such feature service
   */
  features(service: string | ServiceReference): FeatureService
  /**
   * Sends a recorded attempt again, byte for byte.
   *
   * @throws {WebhookError} `config_invalid` for an unknown attempt
   */
  redeliver(attemptId: string): Promise<Attempt>
  /**
   * Calls the listener after every attempt, every handshake, every change of a webhook, and every `restore` or `reset`.
   *
   * @returns a function that removes the listener
   */
  on(listener: (notice: Notice) => void): () => void
  /**
   * Returns copies of all services, webhooks (including their keys), settings, recorded failures and last handshakes, and
   * of the features that were seeded or edited.
   */
  snapshot(): Snapshot
  /**
   * Replaces all services, webhooks, settings, failures, handshakes and features with those of a snapshot. Lists that the
   * snapshot leaves out become empty, and settings get their defaults. Keeps the attempt log and the faults. Events that wait for the end
   * of a window are sent later, except to webhooks that no longer exist.
   *
   * @throws {WebhookError} `config_invalid` if the snapshot is invalid; nothing is changed then
   */
  restore(snapshot: SnapshotSeed): void
  /** Restores the seeds, and drops the attempt log, the faults and the events that wait for the end of a window. */
  reset(): void
  /**
   * Stops listening immediately, ends all windows and sends their events, and waits for attempts in flight. Nothing is
   * retried, and later deliveries fail.
   */
  close(): Promise<void>
}

/**
 * Creates a mock of the service described in docs/specification.md.
 *
 * @throws {WebhookError} `config_invalid` for an invalid option, two webhooks with the same id, or with the same name
 *   in one service, or a key with white space around it
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
 * const [attempt] = await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
 * console.log(attempt?.answer?.status ?? attempt?.error)
 * await service.close()
 * ```
 */
export function createMockService(options: MockServiceOptions = {}): MockService {
  let ownUrl: string | undefined
  const mock = new Mock(options, () => ownUrl)
  const { engine, listeners, state } = mock
  const { control } = mock.options
  const serveControl = createControlHandler(mock)
  const serveFeatures = createFeatureHandler(mock, control)
  const serveAdministration = adminHandler(mock, control)
  const app: RequestListener = (req, res) => {
    const serveOperations = () => serveFeatures(req, res, () => serveAdministration(req, res))
    if (!control) return serveOperations()
    if (/^\/_mock(\/|$)/.test(splitUrl(req.url ?? '/').path)) return serveControl(req, res)
    return serveInspector(req, res, serveOperations)
  }
  const listener = new Listener(app)
  const source = createMockSource(mock, () => listener.url)

  const service: MockService = {
    app,
    [SOURCE]: () => source,
    get url() {
      return listener.url
    },
    get deliveries() {
      return engine.log.list()
    },
    faults: engine.faults,
    get settings() {
      return state.settings
    },
    async listen(port) {
      const url = await listener.listen(port)
      // Kept after `close`, which sends events that wait for the end of a window.
      ownUrl = `${url}/rest`
      return url
    },
    trigger: async (events) => mock.deliver(mock.findRecipients(events)),
    ...createWebhookMethods(mock),
    features: (reference) => createFeatureService(mock, reference),
    async redeliver(attemptId) {
      const attempt = engine.log.get(attemptId)
      if (!attempt) throw configInvalid(`there is no attempt ${attemptId}`)
      return engine.redeliver(attempt)
    },
    on: (listener) => listeners.on(listener),
    snapshot: () => toSnapshot(state),
    restore(snapshot) {
      mock.restore(snapshot)
      mock.save().catch(warn)
    },
    reset() {
      mock.reset()
      mock.save().catch(warn)
    },
    async close() {
      await listener.close(() => engine.close())
      await mock.save().catch(warn)
    },
  }
  const serveInspector = createInspector(service)
  return service
}
