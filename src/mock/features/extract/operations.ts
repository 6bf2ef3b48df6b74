import { single } from '../../admin/form-fields.ts'
import { READ_METHODS } from '../../admin/operation.ts'
import { servicePath } from '../../state/services.ts'
import { BOOLEAN, type FeatureCall, type FeatureOperation, optional } from '../operation.ts'
import { CLEANUP } from './cleanup.ts'
import type { ExtractionCall } from './extractions.ts'
import { DOCUMENT_SCHEMA, JOB_SCHEMA, SUBMITTED_SCHEMA } from './response-schemas.ts'

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
  parameters: [],
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
