import { z } from 'zod'
import { AdminError } from '../../http/errors.ts'
import { CHANGE_METHODS, optional, READ_METHODS } from '../../http/operation.ts'
import { single } from '../../http/request.ts'
import { check } from '../../schemas.ts'
import { servicePath } from '../../state/services.ts'
import type { FeatureData } from '../feature-data.ts'
import { BOOLEAN, type FeatureCall, type FeatureOperation } from '../operation.ts'
import type { ExtractionCall } from './extractions.ts'
import { type Fields, readLayers, toFields } from './request.ts'

const SECONDS = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 } as const
type Unit = keyof typeof SECONDS

/** `cleanupChangeTracking`: drops old changes, so that windows which contain them cannot be extracted any more. */
const CLEANUP: FeatureOperation = {
  name: 'cleanupChangeTracking',
  area: 'admin',
  path: 'cleanupChangeTracking',
  summary: 'Drop the changes up to a generation, or older than a period.',
  methods: CHANGE_METHODS,
  parameters: [
    optional('layers', 'Ids of all layers. Default: all.'),
    optional('minServerGen', 'The changes up to this generation are dropped.', { type: 'integer' }),
    optional('retentionPeriod', 'The changes that are older are dropped.', { type: 'integer', minimum: 0 }),
    optional('retentionPeriodUnits', 'Units of the period. Default days.', {
      type: 'string',
      enum: Object.keys(SECONDS),
    }),
  ],
  response: { type: 'object', properties: { success: { const: true } }, required: ['success'] },
  run({ data, parameters, context }) {
    const fields = toFields(parameters)
    refuseUnsupported(fields, data)
    const generation = readGeneration(fields, data, context.options.clock.now())
    data.cleanup(generation)
    return { body: { success: true }, changed: true }
  },
}

function refuseUnsupported(fields: Fields, data: FeatureData): void {
  const layers = readLayers(fields, data)
  if (layers && layers.length < data.layers.size)
    throw new AdminError(
      400,
      'layers: the mock keeps one history for all layers, so name all of them or none',
    )
  if (fields.text('replicaId') !== undefined) throw new AdminError(400, 'replicaId: the mock has no replicas')
  if (fields.flag('async')) throw new AdminError(400, 'async: the mock answers this operation at once')
}

/** The last generation to drop: the later one, if both parameters are given. */
function readGeneration(fields: Fields, data: FeatureData, now: number): number {
  const minServerGen = fields.json('minServerGen')
  const retentionPeriod = fields.json('retentionPeriod')
  if (minServerGen === undefined && retentionPeriod === undefined)
    throw new AdminError(400, 'minServerGen or retentionPeriod is required')
  const generation = minServerGen === undefined ? 0 : check<number>(z.int(), minServerGen, 'minServerGen')
  if (retentionPeriod === undefined) return generation
  const period = check<number>(z.int().min(0).max(1_000_000_000), retentionPeriod, 'retentionPeriod')
  const unit = (fields.text('retentionPeriodUnits') ?? 'days').toLowerCase()
  if (!Object.hasOwn(SECONDS, unit))
    throw new AdminError(400, `retentionPeriodUnits must be one of ${Object.keys(SECONDS).join(', ')}`)
  const oldest = now - period * SECONDS[unit as Unit] * 1000
  const expired = data
    .changes({ min: data.minGeneration, max: data.generation })
    .findLast(({ when }) => when < oldest)
  return Math.max(generation, expired?.generation ?? 0)
}

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
const SUBMITTED_SCHEMA: Schema = object({ statusUrl: TEXT })

/** The description of a job. */
const JOB_SCHEMA: Schema = object(
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
const DOCUMENT_SCHEMA: Schema = object(
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

const toCall = ({ data, service, parameters, serviceUrl }: FeatureCall): ExtractionCall => ({
  data,
  service: servicePath(service),
  parameters,
  serviceUrl,
})

const EXTRACT: FeatureOperation = {
  name: 'extractChanges',
  path: 'extractChanges',
  summary: 'Extract the changes of layers between two generations.',
  methods: READ_METHODS,
  parameters: [
    optional('layers', 'Ids of the layers, as 0,1 or [0,1]. Default: those of layerServerGens, or all.'),
    optional(
      'serverGens',
      'A generation, or two as [first,last]: the changes after the first, up to the last.',
    ),
    optional(
      'layerServerGens',
      'JSON: [{"id":0,"serverGen":1}], the changes of each layer after a generation.',
    ),
    optional('layerQueries', 'JSON: {"0":{"where":"…","queryOption":"none|useFilter|all"}}.'),
    ...['returnInserts', 'returnUpdates', 'returnDeletes'].map((name) =>
      optional(name, 'Default: true, but false if one of the three is true.', BOOLEAN),
    ),
    optional('returnDeletedFeatures', 'Whether deleted features are included. Default false.', BOOLEAN),
    optional('returnIdsOnly', 'Whether features are listed by their object ids. Default false.', BOOLEAN),
    optional('returnAttachments', 'Whether changes of attachments are included. Default false.', BOOLEAN),
    optional('returnAttachmentsDataByUrl', 'URLs of attachments (default), or their data.', BOOLEAN),
    optional('returnHasGeometryUpdates', 'Whether a geometry was updated. Default false.', BOOLEAN),
    optional('returnExtentOnly', 'The extent of the changes in place of them. Default false.', BOOLEAN),
    optional(
      'fieldsToCompare',
      'JSON: {"fields":["name"]}; lists the updates that changed one of the fields.',
    ),
    optional('async', 'Whether the answer is a job.', BOOLEAN),
    optional('transportType', 'Without async: esriTransportTypeEmbedded for changes, otherwise a job.', {
      type: 'string',
      enum: ['esriTransportTypeUrl', 'esriTransportTypeEmbedded'],
    }),
    optional('dataFormat', 'The only supported format is json.', { type: 'string', enum: ['json'] }),
  ],
  response: { anyOf: [SUBMITTED_SCHEMA, DOCUMENT_SCHEMA] },
  run: (call) => call.context.extractions.submit(toCall(call)),
}

const JOB: FeatureOperation = {
  name: 'getExtractChangesJob',
  path: 'jobs/{jobId}',
  summary: 'Describe a job of extractChanges.',
  methods: READ_METHODS,
  response: JOB_SCHEMA,
  run: (call) => call.context.extractions.poll(toCall(call), call.path.jobId ?? ''),
}

const FILE: FeatureOperation = {
  name: 'getChangeFile',
  path: 'changefiles/{fileName}',
  summary: 'Read the changes of a job. The answer can be a redirect to a signed URL of another host.',
  methods: READ_METHODS,
  parameters: [
    optional('expires', 'Of a signed URL: the end of its validity.'),
    optional('signature', 'Of a signed URL, which needs no token.'),
  ],
  response: DOCUMENT_SCHEMA,
  isOpen: (parameters) => single(parameters, 'signature') !== undefined,
  run: (call) =>
    call.context.extractions.result(toCall(call), (call.path.fileName ?? '').replace(/\.json$/, '')),
}

/** Operations of change extraction. */
export const EXTRACT_OPERATIONS: readonly FeatureOperation[] = [EXTRACT, JOB, FILE, CLEANUP]
