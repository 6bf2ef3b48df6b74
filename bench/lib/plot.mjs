import * as vega from 'vega'
import { compile } from 'vega-lite'

/** @typedef {import('./part.mjs').Plot} Plot */

const [TEXT, FAINT, OWN, OTHER, GOAL] = ['#1f2328', '#8c959f', '#1a7f6c', '#a9b2bc', '#bf3989']
const SERIES_COLOURS = [OWN, '#6639ba', '#bc4c00', '#0969da']
const WIDTH = 520

/** The background is white, so that plots are readable on dark pages. */
const CONFIG = {
  background: 'white',
  padding: 16,
  font: 'sans-serif',
  title: { anchor: 'start', frame: 'group', fontSize: 12, color: TEXT },
  axis: {
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    labelColor: TEXT,
    titleColor: TEXT,
    gridColor: '#e4e7eb',
    domainColor: FAINT,
    tickColor: FAINT,
    labelLimit: 400,
    labelFlush: false,
  },
  legend: { symbolOpacity: 1, labelFontSize: 12, labelColor: TEXT, title: null },
  concat: { spacing: 14 },
  view: { stroke: null },
}

// Without a browser, text widths are estimated, and Vega's estimates are far too wide for a sans-serif font.
vega.textMetrics.width = ({ fontSize = 11 }, text) => String(text ?? '').length * fontSize * 0.6

/** Draws a plot without a browser. @param {Plot} plot @returns {Promise<string>} the SVG */
export async function toSvg(plot) {
  const draw = plot.kind === 'bars' ? bars : lines
  const spec = {
    config: CONFIG,
    title: { text: plot.title, fontSize: 15, offset: 12, frame: 'bounds' },
    ...draw({ ...plot, points: plot.points.map((point) => ({ low: point.y, high: point.y, ...point })) }),
  }
  const view = new vega.View(vega.parse(compile(spec).spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return `${svg}\n`
}

const distinct = (values) => [...new Set(values)]

/** A quantitative axis. A log axis has labels at 1, 2 and 5 times each power of ten, or only at the powers of ten if it is long. */
function quantity(title, values, isLog) {
  if (!isLog) return { type: 'quantitative', title, scale: { zero: true } }
  const domain = [Math.min(...values) * 0.95, Math.max(...values) * 1.05]
  const decades = Math.log10(domain[1] / domain[0])
  const ticks = []
  for (let power = Math.floor(Math.log10(domain[0])); power <= Math.log10(domain[1]); power++)
    ticks.push(...(decades > 2.5 ? [1] : [1, 2, 5]).map((digit) => Number(`${digit}e${power}`)))
  const visible = ticks.filter((tick) => tick >= domain[0] && tick <= domain[1])
  const axis = { values: visible, format: ',~g' }
  return { type: 'quantitative', title, scale: { type: 'log', domain, nice: false }, axis }
}

/** Draws a panel per series, all with the same scale. Highlights the bars of geohook if there are other bars. */
function bars({ y, logY, base = 0, goals = [], points }) {
  const names = distinct(points.map((point) => point.x))
  const own = names.filter((name) => /geohook/.test(name))
  const values = [...points.flatMap(({ low, high }) => [low, high]), ...goals.map((goal) => goal.y)]
  const value = quantity(
    goals.length > 0 ? `${y}; dashed: the goal` : y,
    [...values, base || values[0]],
    logY,
  )
  if (!logY) value.scale = { domain: [0, Math.max(...values, base)] }
  const unlabelled = { ...value, axis: { ...value.axis, labels: false, ticks: false, title: null } }
  const series = distinct(points.map((point) => point.series))
  const panels = series.map((name) => {
    const scale = name === series.at(-1) ? value : unlabelled
    const bar = {
      mark: { type: 'bar', height: { band: 0.7 } },
      encoding: {
        x: { field: 'y', stack: null, ...scale },
        x2: { datum: logY ? base : 0 },
        color: {
          condition: { test: { field: 'x', oneOf: own.length > 0 ? own : names }, value: OWN },
          value: OTHER,
        },
      },
    }
    const intervals = {
      mark: { type: 'rule', strokeWidth: 1.5, color: TEXT },
      encoding: { x: { field: 'low', ...scale }, x2: { field: 'high' } },
    }
    const line = (at, style) => ({
      mark: { type: 'rule', strokeWidth: 1.5, ...style },
      encoding: { x: { datum: at, ...scale }, y: null },
    })
    const ownGoals = goals.filter((goal) => (goal.series ?? name) === name)
    return {
      width: WIDTH,
      height: { step: 20 },
      ...(series.length > 1 && { title: name }),
      data: { values: points.filter((point) => point.series === name) },
      encoding: { y: { field: 'x', type: 'nominal', sort: null, title: null } },
      layer: [
        bar,
        intervals,
        ...(base === 0 ? [] : [line(base, { color: FAINT })]),
        ...ownGoals.map((goal) => line(goal.y, { color: GOAL, strokeDash: [4, 3] })),
      ],
    }
  })
  return { vconcat: panels }
}

/** Draws a line per series, and shades the area between the ends of its intervals. */
function lines({ x, y, logX, logY, points }) {
  const series = distinct(points.map((point) => point.series))
  const horizontal = quantity(
    x,
    points.map((point) => point.x),
    logX,
  )
  const vertical = quantity(
    y,
    points.flatMap(({ low, high }) => [low, high]),
    logY,
  )
  const color = { field: 'series', type: 'nominal', scale: { domain: series, range: SERIES_COLOURS } }
  return {
    width: WIDTH,
    height: 280,
    data: { values: points },
    encoding: {
      x: { field: 'x', ...horizontal },
      color: series.length > 1 ? color : { ...color, legend: null },
    },
    layer: [
      {
        mark: { type: 'area', opacity: 0.15 },
        encoding: { y: { field: 'low', ...vertical }, y2: { field: 'high' } },
      },
      { mark: { type: 'line', point: { size: 45 } }, encoding: { y: { field: 'y', ...vertical } } },
    ],
  }
}
