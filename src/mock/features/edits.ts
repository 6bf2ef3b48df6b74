import type { ServiceEvent } from '../state/events.ts'

/** The edits of one layer in one request. Rows are checked one by one, so they have no type here. */
export interface LayerEdits {
  readonly layerId: number
  /** Features as `{attributes, geometry}`. */
  readonly adds?: readonly unknown[] | undefined
  /** Features with an object id or, with `useGlobalIds`, a global id; attributes left out keep their values. */
  readonly updates?: readonly unknown[] | undefined
  /** Object ids or, with `useGlobalIds`, global ids. */
  readonly deletes?: readonly unknown[] | undefined
  readonly attachments?: AttachmentEdits | undefined
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

/** Who edits, when and how. */
export interface EditContext {
  readonly username: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** Whether nothing is changed if one row fails. Default false. */
  readonly rollbackOnFailure?: boolean | undefined
  /** Whether rows name features by their global ids, and adds bring their own. Default false. */
  readonly useGlobalIds?: boolean | undefined
}

/** The result of one row. For attachments, both ids are those of the attachment. */
export interface EditResult {
  /** Null if the row failed before it had one. */
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

/** The results of one layer, in the order of its rows. */
export interface LayerResults extends Results {
  layerId: number
  attachments: Results
}

/** What an edit did. */
export interface EditResults {
  /** In the order of the edits. */
  layers: LayerResults[]
  /** The events to deliver, with their generations: one for each change type. Empty if nothing changed. */
  events: ServiceEvent[]
}

/** A failure of one row. */
export class EditError extends Error {
  readonly code: number
  /** The ids of the row in its result: null if unknown. */
  readonly ids: { objectId: number | null; globalId: string | null }

  constructor(code: number, description: string, ids: Partial<EditError['ids']> = {}) {
    super(description)
    this.name = 'EditError'
    this.code = code
    this.ids = { objectId: null, globalId: null, ...ids }
  }
}
