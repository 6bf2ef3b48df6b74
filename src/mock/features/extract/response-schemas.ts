type Schema = Readonly<Record<string, unknown>>

const TEXT = { type: 'string' }
const INTEGER = { type: 'integer' }
const OBJECTS = { type: 'array', items: { type: 'object' } }
const object = (properties: Schema, required: readonly string[] = Object.keys(properties)): Schema => ({
  type: 'object',
  properties,
  required,
})
const RESPONSE_TYPE = {
  enum: ['esriDataChangesResponseTypeEdits', 'esriDataChangesResponseTypeNoEdits'],
}

/** The answer to a request that becomes a job. */
export const SUBMITTED_SCHEMA: Schema = object({ statusUrl: TEXT })

/** The description of a job. */
export const JOB_SCHEMA: Schema = object(
  {
    responseType: RESPONSE_TYPE,
    resultUrl: { ...TEXT, description: 'Empty until there is a file' },
    submissionTime: INTEGER,
    lastUpdatedTime: INTEGER,
    status: TEXT,
    transportType: TEXT,
    error: object({ code: INTEGER, message: TEXT, description: TEXT }),
  },
  ['responseType', 'resultUrl', 'submissionTime', 'lastUpdatedTime', 'status', 'transportType'],
)

const ids = { type: 'array', items: INTEGER }

/** A change document. */
export const DOCUMENT_SCHEMA: Schema = object(
  {
    layerServerGens: { type: 'array', items: object({ id: INTEGER, serverGen: INTEGER }) },
    transportType: TEXT,
    responseType: RESPONSE_TYPE,
    edits: {
      type: 'array',
      items: object(
        {
          id: INTEGER,
          features: object(
            {
              adds: OBJECTS,
              updates: OBJECTS,
              deleteIds: { type: 'array', items: TEXT },
              deletes: OBJECTS,
              fieldUpdates: ids,
            },
            ['adds', 'updates', 'deleteIds'],
          ),
          objectIds: object({ adds: ids, updates: ids, deletes: ids, fieldUpdates: ids }, [
            'adds',
            'updates',
            'deletes',
          ]),
          attachments: object({ adds: OBJECTS, updates: OBJECTS, deleteIds: { type: 'array', items: TEXT } }),
          hasGeometryUpdates: { type: 'boolean' },
        },
        ['id'],
      ),
    },
    extent: { type: ['object', 'null'] },
  },
  ['layerServerGens', 'transportType', 'responseType'],
)
