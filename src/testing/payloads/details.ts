import type { ChangeType } from '../../payload/change-types.ts'

/** The three shapes that payloads have (field facts, "Three dialects share the word webhook"). */
export type Dialect = 'service' | 'hosted' | 'organization'

/** How `changesUrl` is percent-encoded: in its query only, as a whole, or not at all. */
export type ChangesUrlEncoding = 'partial' | 'whole' | 'none'

/** An event with a time of its own: a service gathers events over a while and sends them together. */
export interface PayloadEvent {
  changeType: ChangeType
  /** Milliseconds since 1970. Default: `when` of the details. */
  when?: number | undefined
}

/** One event, or several in the order in which they are sent. */
export type PayloadEvents = ChangeType | PayloadEvent | readonly (ChangeType | PayloadEvent)[]

/**
 * What {@link createPayload} takes beside the change types. All of it is checked; what the dialect has no member for
 * is then left out, so that the same details can be given to all three.
 */
export interface PayloadDetails<D extends Dialect = Dialect> {
  /** Default `'service'`, the specification's. */
  dialect?: D | undefined
  /** Default `'Parcels'`, or `'Analysis'` for a geoprocessing service. */
  serviceName?: string | undefined
  /** Default `'FeatureServer'`, or `'GPServer'` for the end of a job. */
  serviceType?: 'FeatureServer' | 'GPServer' | undefined
  /** Default `''`, the root folder. Hosted payloads name it in their URL only. */
  folderName?: string | undefined
  /** The webhook's name. Default `'webhook'`. */
  name?: string | undefined
  /** The webhook's id; only feature services and organizations send it. */
  id?: string | undefined
  /** Of the events that have no time of their own, in milliseconds since 1970. Default: now. */
  when?: number | undefined
  /** Where the changes, or the state of the job, can be read: sent as it is, whatever the options below say. */
  url?: string | undefined
  /** How `changesUrl` is percent-encoded. Default `'partial'`; hosted `'whole'`. */
  changesUrl?: ChangesUrlEncoding | undefined
  /** The first and the last generation in `changesUrl`, whole numbers from 0. Default `[1, 2]`. */
  serverGens?: readonly [number, number] | undefined
  /** What precedes `/services`. Default `'https://server.example/server/rest'`; hosted `'https://olserver.example/<orgId>/rest'`. */
  serverUrl?: string | undefined
  /** Geoprocessing only. Default `'j0'`. */
  jobId?: string | undefined
  /** Geoprocessing only. Default `'Task'`. */
  taskName?: string | undefined
  /** Hosted only. Default `'myorgId'`. */
  orgId?: string | undefined
  /** Hosted only: one item for each of these layers, none twice. Default `[0]`. */
  layerIds?: readonly number[] | undefined
  /** Organization only. Default `'https://portal.example/portal/'`. */
  portalUrl?: string | undefined
  /** Organization only: who did it. Default `'admin'`. */
  username?: string | undefined
  /** Organization only: the id of who did it. Default 32 zeros. */
  userId?: string | undefined
  /** Organization only: what kind of thing it was done to. Default `'items'`. */
  source?: 'items' | 'groups' | 'users' | (string & {}) | undefined
  /** Organization only: the id of what it was done to. Default 32 zeros. */
  itemId?: string | undefined
}
