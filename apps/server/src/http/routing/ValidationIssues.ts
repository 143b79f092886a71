import { ValidationError } from "@svc/api/VoiceError"
import { SchemaAST as AST, Effect, Either, Option, type ParseResult } from "effect"

/** One problem: its dotted path (empty: the value as a whole), and a message for people. */
interface Issue {
  readonly path: string
  readonly message: string
}

/** What a value must be, in words. Schema names are internal and never shown. */
const describe = (ast: AST.AST): string => {
  switch (ast._tag) {
    case "StringKeyword":
    case "TemplateLiteral":
      return "a string"
    case "NumberKeyword":
      return "a number"
    case "BooleanKeyword":
      return "true or false"
    case "Literal":
      return String(ast.literal)
    case "TupleType":
      return "an array"
    case "TypeLiteral":
      return "an object"
    case "Declaration":
      return Option.getOrElse(AST.getTitleAnnotation(ast), () => "valid")
    case "Refinement":
      return Option.getOrElse(AST.getDescriptionAnnotation(ast), () => describe(ast.from))
    case "Transformation":
      return describe(AST.typeAST(ast))
    case "Suspend":
      return describe(ast.f())
    case "Union":
      return describeUnion(ast.types.filter((type) => type._tag !== "UndefinedKeyword"))
    default:
      return "valid"
  }
}

const describeUnion = (types: ReadonlyArray<AST.AST>): string => {
  const words = [...new Set(types.map(describe))]
  if (words.length > 1 && types.every((type) => type._tag === "Literal")) return `one of: ${words.join(", ")}`
  return words.join(" or ")
}

/** The schema's own message for this issue, if it applies to the issue itself and not to an inner one. */
const annotatedMessage = (issue: ParseResult.ParseIssue): string | undefined => {
  if (issue._tag === "Pointer" || issue._tag === "Missing" || issue._tag === "Unexpected") return undefined
  const annotation = Option.getOrUndefined(AST.getMessageAnnotation(issue.ast))
  if (annotation === undefined) return undefined
  const result = annotation(issue)
  const { message, override } =
    typeof result === "string" || Effect.isEffect(result) ? { message: result, override: false } : result
  const isOuter =
    issue._tag === "Composite" ||
    (issue._tag === "Refinement" && issue.kind === "From") ||
    (issue._tag === "Transformation" && issue.kind !== "Transformation")
  if (isOuter && !override) return undefined
  // Messages are text in all our schemas; an effectful one cannot be computed here.
  return typeof message === "string" ? message : undefined
}

const mustBe = (path: string, ast: AST.AST): string => `${path === "" ? "body" : path} must be ${describe(ast)}`

const join = (path: string, more: ParseResult.Path): string =>
  [...(path === "" ? [] : [path]), ...(Array.isArray(more) ? more : [more])].map(String).join(".")

const isList = <A>(value: A | ReadonlyArray<A>): value is ReadonlyArray<A> => Array.isArray(value)

const collect = (issue: ParseResult.ParseIssue, path: string): ReadonlyArray<Issue> => {
  const own = annotatedMessage(issue)
  if (own !== undefined) return [{ path, message: own }]
  switch (issue._tag) {
    case "Pointer":
      return collect(issue.issue, join(path, issue.path))
    case "Missing": {
      const message = Option.getOrUndefined(AST.getMissingMessageAnnotation(issue.ast))?.()
      return [{ path, message: typeof message === "string" ? message : `${path} is required.` }]
    }
    case "Unexpected":
      return [{ path, message: `${path} is not allowed` }]
    case "Forbidden":
      return [{ path, message: `${path} cannot be checked` }]
    case "Type":
      return [{ path, message: mustBe(path, issue.ast) }]
    case "Composite": {
      const parts = isList(issue.issues) ? issue.issues : [issue.issues]
      const tried = parts.filter((part) => !(part._tag === "Type" && part.ast._tag === "UndefinedKeyword"))
      const inner = tried.flatMap((part) => collect(part, path))
      // An optional field has one type besides undefined: only its issues are reported.
      if (issue.ast._tag !== "Union" || tried.length === 1) return inner
      // A text that is too long is no problem of the null that may stand in its place.
      const [only, ...others] = tried.filter((part) => !(part._tag === "Type" && part.ast === AST.null))
      if (only !== undefined && others.length === 0 && isRefused(only)) return collect(only, path)
      // No member of the union fits: that is one problem, unless the value partly matched one of them.
      const deeper = inner.filter((one) => one.path !== path)
      return deeper.length > 0 ? deeper : [{ path, message: mustBe(path, issue.ast) }]
    }
    case "Refinement":
      return issue.kind === "From" ? collect(issue.issue, path) : refused(issue, path)
    case "Transformation":
      return issue.kind === "Transformation" ? [{ path, message: mustBe(path, issue.ast) }] : collect(issue.issue, path)
  }
}

/** Whether a value has the right type, and one of its filters refused it. */
const isRefused = (issue: ParseResult.ParseIssue): boolean =>
  issue._tag === "Refinement" && (issue.kind === "Predicate" || isRefused(issue.issue))

/** The issues of a value that a filter refused: the filter may have given a message or a path. */
const refused = (issue: ParseResult.Refinement, path: string): ReadonlyArray<Issue> => {
  const { issue: inner } = issue
  if (inner._tag === "Pointer" || inner._tag === "Composite") return collect(inner, path)
  if (inner._tag === "Type" && inner.message !== undefined) return [{ path, message: inner.message }]
  return [{ path, message: mustBe(path, issue.ast) }]
}

/** The error for a request that did not decode: a message for each field (docs/reference/conventions.md). */
const toValidationError = (error: ParseResult.ParseError): ValidationError => {
  const details: Record<string, string> = {}
  for (const { path, message } of collect(error.issue, "")) details[path === "" ? "body" : path] ??= message
  return ValidationError.fields(details)
}

/** A decoded value, or the validation error that the client gets. */
export const orInvalid = <A>(result: Either.Either<A, ParseResult.ParseError>): Either.Either<A, ValidationError> =>
  Either.mapLeft(result, toValidationError)
