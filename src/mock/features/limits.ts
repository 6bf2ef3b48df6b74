/** Bounds of the data of a feature service. */

/** Maximum number of features of a layer. */
export const MAX_FEATURES = 100_000
/** Maximum number of rows in one request: adds, updates, deletes and attachments of all layers together. */
export const MAX_EDITS = 2000
/** Maximum number of layers of a service. */
export const MAX_LAYERS = 100
/** Maximum number of fields of a layer. */
export const MAX_FIELDS = 200
/** Maximum length of a text if its field has no length of its own, in characters. */
export const MAX_TEXT = 4000
/** Maximum size of an attachment in bytes. */
export const MAX_ATTACHMENT: number = 10 * 1024 * 1024
/** Maximum size of all attachments of a service in bytes. */
export const MAX_ATTACHMENTS_OF_SERVICE: number = 100 * 1024 * 1024
/** Maximum number of changes that the history of a service keeps. */
export const MAX_HISTORY = 50_000
