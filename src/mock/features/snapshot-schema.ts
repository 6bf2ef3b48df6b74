import { z } from 'zod'
import { pathPart, serviceName, time, user } from '../schema-parts.ts'
import {
  FIELD_TYPES,
  GEOMETRY_TYPES,
  MAX_ATTACHMENT,
  MAX_FEATURES,
  MAX_FIELDS,
  MAX_HISTORY,
  MAX_LAYERS,
} from './model.ts'

const generation = z.int().min(0)
const id = z.int().min(0)
const globalId = z.string().regex(/^\{[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\}$/)
const name = z.string().min(1).max(256)
const attributes = z.record(name, z.union([z.string(), z.number(), z.null()]))
const geometry = z.record(name, z.unknown())

const fieldSchema = z.strictObject({
  name,
  type: z.enum(FIELD_TYPES),
  alias: z.string().max(256),
  length: z.int().min(1).optional(),
  nullable: z.boolean(),
  editable: z.boolean(),
})

const attachmentSchema = z.strictObject({
  id,
  globalId,
  name: z.string().min(1).max(255),
  contentType: z.string().max(200),
  data: z.base64().max(Math.ceil(MAX_ATTACHMENT / 3) * 4),
})

const featureSchema = z.strictObject({
  objectId: id,
  globalId,
  attributes,
  geometry: geometry.optional(),
  attachments: z.array(attachmentSchema).optional(),
})

const layerSchema = z.strictObject({
  id,
  name,
  geometryType: z.enum(GEOMETRY_TYPES).optional(),
  fields: z.array(fieldSchema).max(MAX_FIELDS + 6),
  systemFields: z.strictObject({
    objectId: name,
    globalId: name,
    creationDate: name,
    creator: name,
    editDate: name,
    editor: name,
  }),
  hasAttachments: z.boolean(),
  spatialReference: z.strictObject({ wkid: z.int().min(1) }),
  nextObjectId: id,
  nextAttachmentId: id,
  features: z.array(featureSchema).max(MAX_FEATURES),
})

const changeSchema = z.strictObject({
  generation,
  when: time,
  layerId: id,
  of: z.enum(['feature', 'attachment']),
  kind: z.enum(['insert', 'update', 'delete']),
  objectId: id,
  globalId,
  attachmentId: id.optional(),
  attachmentGlobalId: globalId.optional(),
  fields: z.array(name).optional(),
  movesGeometry: z.boolean().optional(),
  row: z.strictObject({ attributes, geometry: geometry.optional() }).optional(),
  editor: user,
})

/** The feature data of one service in a snapshot. */
export const serviceDataSchema: z.ZodObject = z.strictObject({
  folderName: pathPart,
  serviceName,
  generation,
  minGeneration: generation,
  layers: z.array(layerSchema).max(MAX_LAYERS),
  changes: z.array(changeSchema).max(MAX_HISTORY * 2),
})
