import type { ChangeType } from '../../payload/types.ts'

/** The dialects of payloads (docs/senders.md, "Three dialects"). */
export type Dialect = 'service' | 'hosted' | 'organization'

/** The part of `changesUrl` that is percent-encoded: only the query, the whole URL, or none of it. */
export type ChangesUrlEncoding = 'partial' | 'whole' | 'none'

/** An event with its own time. Services collect events for a while and send them together. */
export interface PayloadEvent {
  changeType: ChangeType
  /** Time of the event in milliseconds since 1970. Default: `when` of {@link PayloadDetails}. */
  when?: number | undefined
}

/** One event, or a list of events in the order in which to send them. */
export type PayloadEvents = ChangeType | PayloadEvent | readonly (ChangeType | PayloadEvent)[]

/**
 * Details of the payload that {@link createPayload} writes. All of them are checked. Details that a dialect does not
 * contain are ignored, so that the same details can be used for all three dialects.
 */
export interface PayloadDetails<D extends Dialect = Dialect> {
  /** Default `'service'`, the dialect of docs/specification.md. */
  dialect?: D | undefined
  /** Default `'Parcels'`, or `'Analysis'` for a geoprocessing service. */
  serviceName?: string | undefined
  /** Default `'FeatureServer'`, or `'GPServer'` for the result of a job. */
  serviceType?: 'FeatureServer' | 'GPServer' | undefined
  /** Default `''`, the root folder. In the hosted dialect, it appears only in the URL. */
  folderName?: string | undefined
  /** The webhook's name. Default `'webhook'`. */
  name?: string | undefined
  /** The webhook's id. Job results and hosted payloads do not contain it. Default: a fixed id. */
  id?: string | undefined
  /** Time of all events that have no time of their own, in milliseconds since 1970. Default: now. */
  when?: number | undefined
  /**
   * URL of the changes or of the job's status. It is sent unchanged, and the details that would otherwise form the URL
   * are ignored.
   */
  url?: string | undefined
  /** The part of `changesUrl` that is percent-encoded. Default `'partial'`, or `'whole'` in the hosted dialect. */
  changesUrl?: ChangesUrlEncoding | undefined
  /** The first and the last generation in `changesUrl`, whole numbers from 0. Default `[1, 2]`. */
  serverGens?: readonly [number, number] | undefined
  /**
   * The part of the URL before `/services`. Default `'https://server.example/server/rest'`, or
   * `'https://olserver.example/<orgId>/rest'` in the hosted dialect.
   */
  serverUrl?: string | undefined
  /** Geoprocessing only. Default `'j0'`. */
  jobId?: string | undefined
  /** Geoprocessing only. Default `'Task'`. */
  taskName?: string | undefined
  /** Hosted only. Default `'myorgId'`. */
  orgId?: string | undefined
  /** Hosted only: ids of the layers, without duplicates. The payload has one item per layer. Default `[0]`. */
  layerIds?: readonly number[] | undefined
  /** Organization only. Default `'https://portal.example/portal/'`. */
  portalUrl?: string | undefined
  /** Organization only: name of the user who caused the event. Default `'admin'`. */
  username?: string | undefined
  /** Organization only: id of the user who caused the event. Default 32 zeros. */
  userId?: string | undefined
  /** Organization only: kind of object that the event affects. Default `'items'`. */
  source?: 'items' | 'groups' | 'users' | (string & {}) | undefined
  /** Organization only: id of the object that the event affects. Default 32 zeros. */
  itemId?: string | undefined
}
