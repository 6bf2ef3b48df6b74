// Copies a feature service into the mirror, and applies its changes. Both are idempotent.

/** @param token a token for the service, if it requires one */
export function createSync({ mirror, changes, token }) {
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
      const { layers, tables } = await ask(service, {}, signal)
      for (const { id } of [...layers, ...tables]) await copyLayer(sql, `${service}/${id}`, id, signal)
    })
    console.log('copied all features')
  }

  async function copyLayer(sql, url, id, signal) {
    const { objectIdField, hasAttachments } = await ask(url, {}, signal)
    for (let last = -1; ; ) {
      // Pages begin after an object id instead of an offset, so that deletions do not cause skipped features.
      const page = { where: `${objectIdField} > ${last}`, orderByFields: objectIdField, outFields: '*' }
      const { features } = await ask(`${url}/query`, { ...page, resultRecordCount: 1000 }, signal)
      if (features.length === 0) return
      for (const feature of features) {
        last = feature.attributes[objectIdField]
        await saveFeature(sql, id, feature)
        if (!hasAttachments) continue
        const { attachmentInfos } = await ask(`${url}/${last}/attachments`, {}, signal)
        const parentGlobalId = globalIdOf(feature)
        for (const info of attachmentInfos) {
          const file = { ...info, parentGlobalId, url: `${url}/${last}/attachments/${info.id}` }
          await saveAttachment(sql, id, file, { signal })
        }
      }
    }
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

  async function ask(url, fields, signal) {
    const body = new URLSearchParams({ ...fields, f: 'json', ...(token && { token }) })
    const response = await fetch(url, { method: 'POST', body, signal, redirect: 'error' })
    const answer = await response.json()
    // Services return most errors with HTTP status 200.
    if (answer.error) throw new Error(`${url}: ${answer.error.code} ${answer.error.message}`)
    return answer
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
