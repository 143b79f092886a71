import type { NumberType, OfferedNumber } from "@svc/providers/Carrier"

/** Numbers that follow each other: `prefix` and `digits` more digits, `count` of them. */
interface Block {
  readonly country: string
  readonly type: NumberType
  /** Area code without the leading zero; null for mobile numbers. */
  readonly code: string | null
  readonly place: string | null
  readonly prefix: string
  readonly digits: number
}

const local = (country: string, code: string, place: string, prefix: string, digits: number): Block => ({
  country,
  type: "local",
  code,
  place,
  prefix,
  digits
})
const mobile = (country: string, prefix: string, digits = 4): Block => ({
  country,
  type: "mobile",
  code: null,
  place: null,
  prefix,
  digits
})
const tollFree = (country: string, code: string, prefix: string, digits: number): Block => ({
  country,
  type: "toll_free",
  code,
  place: null,
  prefix,
  digits
})

/** 555-0100 to 555-0199 of each area are reserved for fiction. */
const american = (country: string, areas: ReadonlyArray<readonly [string, string]>): ReadonlyArray<Block> =>
  areas.map(([code, place]) => local(country, code, place, `+1${code}55501`, 2))

const blocks: ReadonlyArray<Block> = [
  ...american("US", [
    ["212", "New York"],
    ["415", "San Francisco"],
    ["202", "Washington"],
    ["206", "Seattle"],
    ["213", "Los Angeles"],
    ["303", "Denver"],
    ["305", "Miami"],
    ["312", "Chicago"],
    ["404", "Atlanta"],
    ["512", "Austin"],
    ["617", "Boston"],
    ["713", "Houston"]
  ]),
  ...["800", "888", "877", "866"].map((code) => tollFree("US", code, `+1${code}55501`, 2)),
  ...american("CA", [
    ["416", "Toronto"],
    ["514", "Montreal"],
    ["604", "Vancouver"],
    ["403", "Calgary"],
    ["613", "Ottawa"]
  ]),
  ...["833", "844", "855"].map((code) => tollFree("CA", code, `+1${code}55501`, 2)),
  local("NL", "20", "Amsterdam", "+3120558", 4),
  local("NL", "10", "Rotterdam", "+3110558", 4),
  local("NL", "30", "Utrecht", "+3130558", 4),
  mobile("NL", "+3165800"),
  tollFree("NL", "800", "+31800558", 4),
  local("DE", "30", "Berlin", "+493023125", 3),
  local("DE", "40", "Hamburg", "+494066969", 3),
  local("DE", "89", "Munich", "+498999998", 3),
  mobile("DE", "+4917139200", 2),
  local("GB", "20", "London", "+442079460", 3),
  local("GB", "121", "Birmingham", "+441214960", 3),
  local("GB", "161", "Manchester", "+441614960", 3),
  mobile("GB", "+44740000"),
  tollFree("GB", "808", "+448081570", 3),
  local("FR", "1", "Paris", "+3319900", 4),
  mobile("FR", "+3361200"),
  local("BE", "2", "Brussels", "+322588", 4),
  mobile("BE", "+3247000"),
  local("ES", "91", "Madrid", "+3491000", 4),
  mobile("ES", "+3460000"),
  local("AU", "2", "Sydney", "+6125550", 4),
  mobile("AU", "+6149157")
]

const isInArea = ({ code, place }: Block, area: string): boolean => {
  const wanted = area.trim().toLowerCase()
  return place?.toLowerCase() === wanted || (code !== null && code === wanted.replace(/^0+/, ""))
}

/** The types of number that are for sale in a country. */
export const typesIn = (country: string): ReadonlyArray<NumberType> => [
  ...new Set(blocks.filter((block) => block.country === country).map(({ type }) => type))
]

/** The numbers of a query in a fixed order, without those that `isRented`. None ends in `9999`, which are refused. */
export const numbersForSale = (
  query: { readonly country: string; readonly area?: string; readonly type?: NumberType; readonly limit: number },
  isRented: (number: string) => boolean
): ReadonlyArray<OfferedNumber> => {
  const found: Array<OfferedNumber> = []
  for (const block of blocks) {
    const { code, country, digits, place, prefix, type } = block
    if (country !== query.country || (query.type !== undefined && type !== query.type)) continue
    if (query.area !== undefined && !isInArea(block, query.area)) continue
    for (let n = 0; n < 10 ** digits; n++) {
      if (found.length >= query.limit) return found
      const number = `${prefix}${String(n).padStart(digits, "0")}`
      if (!number.endsWith("9999") && !isRented(number)) found.push({ number, country, type, area: place ?? code })
    }
  }
  return found
}
