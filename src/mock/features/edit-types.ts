import type { ServiceEvent } from '../state/events.ts'

/** The edits of one layer. */
export interface FeatureEdits {
  /** Default 0. */
  layerId?: number | undefined
  /** Features as `{ attributes, geometry }`, in Esri JSON. */
  adds?: readonly FeatureRow[] | undefined
  /** Features with their object id; attributes left out keep their values. */
  updates?: readonly FeatureRow[] | undefined
  /** Object ids or global ids. */
  deletes?: readonly (number | string)[] | undefined
  attachments?: AttachmentEdits | undefined
}

/** A feature to add, or the changes of a feature. */
export interface FeatureRow {
  attributes?: Readonly<Record<string, unknown>> | undefined
  geometry?: object | null | undefined
}

/** A feature or an attachment, by its number or by its global id. */
export type Reference = number | string

/** The edits of the attachments of one layer. */
export interface AttachmentEdits {
  readonly adds?: readonly AttachmentAdd[] | undefined
  readonly updates?: readonly AttachmentUpdate[] | undefined
  readonly deletes?: readonly AttachmentDelete[] | undefined
}

/** A file. */
export interface AttachmentContent {
  /** 1 to 255 characters, without slashes. */
  readonly name: string
  /** A media type. */
  readonly contentType: string
  /** At most 10 MB. */
  readonly bytes: Uint8Array
}

/** An attachment to add to a feature. */
export interface AttachmentAdd extends AttachmentContent {
  readonly parent: Reference
  /** Default: a new one. */
  readonly globalId?: string | undefined
}

/** An attachment to delete. */
export interface AttachmentDelete {
  /** Default: any feature of the layer. */
  readonly parent?: Reference | undefined
  readonly attachment: Reference
}

/** An attachment to replace. */
export interface AttachmentUpdate extends AttachmentContent, AttachmentDelete {}

/** Options of an edit. */
export interface EditOptions {
  /** Author of the edits. Default `'admin'`. */
  username?: string | undefined
  /** Whether nothing is changed if one row fails. Default true. */
  rollbackOnFailure?: boolean | undefined
  /** Whether rows name features by their global ids, and adds bring their own. Default false. */
  useGlobalIds?: boolean | undefined
}

/** The editor, the time and the options of an edit. */
export interface EditContext extends EditOptions {
  username: string
  /** Milliseconds since 1970. */
  now: number
}

/** The result of one row. For attachments, both ids are those of the attachment. */
export interface EditResult {
  /** Null if the row failed or its addition was rolled back. If the feature is unknown, the id that the row names. */
  objectId: number | null
  globalId: string | null
  success: boolean
  /** `code` is one of the vendor's editing errors, 1000 to 2001. */
  error?: { code: number; description: string }
}

/** The results of the rows of one layer, or of its attachments. */
export interface Results {
  addResults: EditResult[]
  updateResults: EditResult[]
  deleteResults: EditResult[]
}

export const RESULT_LISTS: readonly (keyof Results)[] = ['addResults', 'updateResults', 'deleteResults']

/** The results of one layer, in the order of its rows. */
export interface LayerResults extends Results {
  layerId: number
  attachments: Results
}

/** The results of all rows of a layer. */
export const allResults = ({ attachments, ...layer }: LayerResults): EditResult[] =>
  [layer, attachments].flatMap((results) => RESULT_LISTS.flatMap((list) => results[list]))

/** What an edit did. */
export interface EditResults {
  /** In the order of the edits. */
  layers: LayerResults[]
  /** The events to deliver, with their generations: one for each change type. Empty if nothing changed. */
  events: ServiceEvent[]
}

export const NO_IDS = { objectId: null, globalId: null } as const

/** A failure of one row. */
export class EditError extends Error {
  readonly code: number
  /** The ids of an unknown feature, as the row names it. */
  readonly ids: Pick<EditResult, 'objectId' | 'globalId'>

  constructor(code: number, description: string, ids: Partial<EditError['ids']> = {}) {
    super(description)
    this.name = 'EditError'
    this.code = code
    this.ids = { ...NO_IDS, ...ids }
  }
}
