// Copies a feature service into the mirror, and applies its changes. Both are idempotent.

export function createSync({ mirror, changes }) {
  /** Applies the changes behind an event in one transaction. Overwrites rows with the current features. */
  function apply(event, context) {
    return mirror.transaction(async (sql) => {
      const { layers } = await changes.of(event, context)
      for (const { id, adds, updates, deletes, attachments } of layers) {
        for (const feature of [...adds, ...updates]) await saveFeature(sql, id, feature)
        for (const file of [...attachments.adds, ...attachments.updates])
          await saveAttachment(sql, id, file, context)
        for (const fileId of attachments.deleteIds)
          await sql('delete from attachments where layer = ? and global_id = ?', id, toKey(fileId))
        for (const featureId of deletes.ids) await deleteFeature(sql, id, featureId)
        console.log(
          `layer ${id}: ${adds.length} added, ${updates.length} updated, ${deletes.ids.length} deleted`,
        )
      }
    })
  }

  /** Replaces the mirror with the current features of the service. Later extractions continue from there. */
  async function copy(service, { reason, signal }) {
    console.log(`copying all features (${reason})`)
    await mirror.transaction(async (sql) => {
      await sql('delete from attachments')
      await sql('delete from features')
      const pages = changes.query(service, { attachments: true, signal })
      for await (const { layer, features, attachments } of pages) {
        for (const feature of features) await saveFeature(sql, layer, feature)
        for (const file of attachments) await saveAttachment(sql, layer, file, { signal })
      }
    })
    console.log('copied all features')
  }

  async function saveAttachment(sql, layer, file, { signal }) {
    const stream = await changes.download(file, { signal })
    const bytes = Buffer.from(await new Response(stream).arrayBuffer())
    const { globalId, parentGlobalId, name, contentType } = file
    await sql(
      `insert into attachments values (?, ?, ?, ?, ?, ?)
        on conflict (layer, global_id) do update set feature = excluded.feature, name = excluded.name,
          content_type = excluded.content_type, bytes = excluded.bytes`,
      ...[layer, toKey(globalId), toKey(parentGlobalId), name, contentType, bytes],
    )
  }

  return { apply, copy }
}

async function saveFeature(sql, layer, feature) {
  const { attributes, geometry = null } = feature
  const objectId = attributeOf(attributes, ['objectid', 'fid'])
  await sql(
    `insert into features values (?, ?, ?, ?, ?)
      on conflict (layer, global_id) do update set object_id = excluded.object_id,
        attributes = excluded.attributes, geometry = excluded.geometry`,
    ...[layer, toKey(globalIdOf(feature)), String(objectId)],
    ...[JSON.stringify(attributes), geometry && JSON.stringify(geometry)],
  )
}

/** @param id a global id or, from some services, an object id */
async function deleteFeature(sql, layer, id) {
  const found = 'from features where layer = ? and (global_id = ? or object_id = ?)'
  const values = [layer, toKey(id), id]
  await sql(
    `delete from attachments where layer = ? and feature in (select global_id ${found})`,
    ...[layer, ...values],
  )
  await sql(`delete ${found}`, ...values)
}

const globalIdOf = ({ attributes }) => attributeOf(attributes, ['globalid'])

/** Services spell the names of these fields in upper, lower or mixed case. */
const attributeOf = (attributes, names) =>
  Object.entries(attributes).find(([name]) => names.includes(name.toLowerCase()))?.[1]

/** Services write global ids with and without braces, in upper or lower case. */
const toKey = (globalId) => String(globalId).replace(/[{}]/g, '').toLowerCase()
