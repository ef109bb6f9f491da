//! What an operation's outcome depends on, beside its operands and the rows it reads.
//!
//! A call can be logged as a call where replaying it, with the same arguments and the inputs that are logged
//! with it, in the same place of the commit order, changes the same rows in the same way. Whether that is so is
//! a matter of levels, each with all that is below it, and the level of a whole is the highest of its parts:
//! [`Determinism::join`]. The class of each operation, function, question and input is said here and nowhere
//! else, without a case for "all others": what is new does not compile before somebody has thought about it.
//! `docs/design/determinism.md` says who asks.

use crate::{Draw, Func, IfClaimed, OpKind, Program, Question, Run};
use planaria_base::ProcedureId;

/// See the module's head.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Determinism {
    /// On nothing else.
    #[default]
    Deterministic,
    /// On inputs from outside, which are drawn once, logged with the call and handed out again: times, random
    /// numbers, values of sequences, row ids, who calls, what a setting is, whom policies bind.
    Draws,
    /// On the release of this program, or on the machine's own library of functions over double precision: another
    /// release of it may give another last digit.
    Machine,
    /// On the definitions, as they can be asked for at run time, or on rows of the system catalogs, some of which
    /// have what others are doing.
    Catalog,
    /// On rights, on what a session has beside its settings, or on what the engine knows of itself.
    Session,
    /// On what other transactions are about to do, and on what they have locked.
    Others,
    /// On what waits in the session, which it hands to triggers: it says when constraints are looked at.
    Constraints,
    /// On a text made at run time: on anything.
    Text,
    /// On the transactions that come between its own: it is several.
    Transactions,
}

impl Determinism {
    /// All levels, the lowest first.
    pub const ALL: [Determinism; 9] = [
        Determinism::Deterministic,
        Determinism::Draws,
        Determinism::Machine,
        Determinism::Catalog,
        Determinism::Session,
        Determinism::Others,
        Determinism::Constraints,
        Determinism::Text,
        Determinism::Transactions,
    ];

    /// The level of what has parts of both.
    #[must_use]
    pub fn join(self, other: Determinism) -> Determinism {
        self.max(other)
    }

    /// Whether a call says all that it depends on: it can be logged as a call.
    pub fn is_in_a_call(self) -> bool {
        self <= Determinism::Draws
    }

    /// Whether a call that an older version logged as a call can be replayed. They took machine and
    /// release for the same ever after.
    pub fn was_in_a_call(self) -> bool {
        self <= Determinism::Machine
    }

    /// Why a call does not say all that it depends on, one sentence; `None` where it does.
    pub fn reason(self) -> Option<&'static str> {
        Some(match self {
            Determinism::Deterministic | Determinism::Draws => return None,
            Determinism::Machine => {
                "It calls functions whose results depend on the machine or on the release of Planaria."
            }
            Determinism::Catalog => "It reads the system catalogs, which are not logged with the call.",
            Determinism::Session => {
                "It depends on privileges, cursors or other state of the session, which is not logged with the call."
            }
            Determinism::Others => "It depends on locks that others hold.",
            Determinism::Constraints => {
                "It sets when constraints are checked (SET CONSTRAINTS), and rows changed by other statements may be waiting for that check."
            }
            Determinism::Text => {
                "It executes SQL text built at run time, which cannot be analysed in advance."
            }
            Determinism::Transactions => {
                "It ends its transaction: a call consists of several transactions, each with its own record in the log."
            }
        })
    }
}

impl Func {
    /// Its level.
    pub const fn determinism(self) -> Determinism {
        use Func::*;
        match self {
            // IEEE 754 leaves these to the library; the four operations and the square root it does not.
            FltPower | FltExp | FltLn | FltLog10 | FltCbrt | FltSin | FltCos | FltTan | FltAsin | FltAcos
            | FltAtan | FltAtan2 | FltCot | FltSinh | FltCosh | FltTanh | FltAsinh | FltAcosh | FltAtanh
            | FltSind | FltCosd | FltTand | FltCotd | FltAsind | FltAcosd | FltAtand | FltAtan2d => {
                Determinism::Machine
            }
            // How many digits their results have is estimated with those.
            NumPower | NumExp | NumLn | NumLog10 | NumLog => Determinism::Machine,
            Version => Determinism::Machine,
            // By logarithms and powers.
            VectorRank | VectorRankBy => Determinism::Machine,
            Int2Add | Int4Add | Int8Add | Int2Sub | Int4Sub | Int8Sub | Int2Mul | Int4Mul | Int8Mul
            | Int2Div | Int4Div | Int8Div | IntMod | Int2Neg | Int4Neg | Int8Neg | Int2Abs | Int4Abs
            | Int8Abs | IntSign | Ntile | SampleShare | SampleDraw | IntAnd | IntOr | IntXor | IntNot
            | Int4Gcd | Int8Gcd | Int4Lcm | Int8Lcm | Int4ToHex | Int8ToHex | Int2Shl | Int4Shl | Int8Shl
            | Int2Shr | Int4Shr | Int8Shr | IntEq | IntNe | IntLt | IntLe | IntGt | IntGe => {
                Determinism::Deterministic
            }
            NumAdd | NumSub | NumMul | NumDiv | NumMod | NumNeg | NumAbs | NumSign | NumCeil | NumFloor
            | NumRound | NumTrunc | NumSqrt | NumScale | NumDivTrunc | NumMinScale | NumTrimScale | NumEq
            | NumFactorial | NumGcd | NumLcm | NumWidthBucket | FltWidthBucket | SetByte | GetBit
            | SetBit | BitCount | NumNe | NumLt | NumLe | NumGt | NumGe | NumAvg => {
                Determinism::Deterministic
            }
            RealAdd | RealSub | RealMul | RealDiv => Determinism::Deterministic,
            FltAdd | FltSub | FltMul | FltDiv | FltNeg | FltAbs | FltSign | FltCeil | FltFloor | FltRound
            | FltTrunc | FltSqrt | FltDegrees | FltRadians | FltEq | FltNe | FltLt | FltLe | FltGt
            | FltGe => Determinism::Deterministic,
            And | Or | Not | BoolEq | BoolNe | BoolLt | BoolLe | BoolGt | BoolGe | IsNull | IsNotNull
            | AnyNull | IsTrue | IsFalse | BoolOut | Distinct | NotDistinct => Determinism::Deterministic,
            // Texts are compared byte by byte; what is a letter, the program's own tables say.
            CitextEq | CitextNe | CitextLt | CitextLe | CitextGt | CitextGe | TextEq | TextNe | TextLt
            | TextLe | TextGt | TextGe | TextConcat | TextLength | OctetLength | Substr | SubstrFor
            | Upper | Lower | InitCap | LPad | RPad | Repeat | LTrim | RTrim | BTrim | Replace | Reverse
            | Position | SplitPart | Left | Right | Translate | Ascii | Chr | Md5 | StartsWith | HashText
            | HashText4 | HashInt4 | HashInt8 | HashBool | HashUuid | HashPartition | Overlay | Like
            | ILike | LikePlain | ILikePlain | Regex | IRegex | RegexReplace | Similar | RegexMatch
            | RegexPart | RegexSubstr | RegexInstr | Similarity | Normalize | IsNormalized
            | WordSimilarity | Trigrams | RegexAll | RegexAllCount | RegexSplit | RegexCount | RegexLike
            | JsonQuote | JsonKey | JsonbIn | JsonbEq | JsonbNe | JsonbLt | JsonbLe | JsonbGt | JsonbGe
            | JsonField | JsonFieldText | JsonElement | JsonElementText | JsonPath | JsonPathText
            | JsonTypeof | JsonLength | JsonElements | JsonElementTexts | JsonRecord | JsonRecords
            | JsonFieldTexts | JsonFieldRows | JsonKeys | JsonValues | JsonValueTexts | JsonbContains
            | JsonbHas | JsonbHasAny | JsonbHasAll | JsonbConcat | JsonbWithout | JsonbWithoutAll
            | JsonbWithoutAt | JsonbWithoutPath | JsonbSet | JsonbInsert | JsonPathExists | JsonPathMatch
            | JsonPathValues | JsonPathArray | JsonPathFirst | JsonStripNulls | JsonbPretty | JsonLines
            | JsonObject | JsonObjectOf | JsonbSetLax | SizePretty | SizeBytes | Unistr | ParseIdent
            | TextBytes | BytesLTrim | BytesRTrim | BytesBTrim | InDetail | QuoteIdent | QuoteLiteral
            | QuoteNullable | Concat | ConcatWs | Format | CharPad | RaiseFormat => {
                Determinism::Deterministic
            }
            BytesEq | BytesNe | BytesLt | BytesLe | BytesGt | BytesGe | BytesConcat | BytesLength
            | BytesSubstr | BytesSubstrFor | BytesMd5 | BytesSha | GetByte | Encode | Decode | UuidEq
            | UuidNe | UuidLt | UuidLe | UuidGt | UuidGe => Determinism::Deterministic,
            RangeMake | RangeLower | RangeUpper | RangeIsEmpty | RangeLowerInc | RangeUpperInc
            | RangeLowerInf | RangeUpperInf | RangeOverlaps | RangeContains | RangeHas | RangeBefore
            | RangeEndsWithin | RangeBeginsWithin | RangeAdjacent | RangeUnion | RangeMinus
            | RangeIntersect | RangeMerge | RangeCeiling => Determinism::Deterministic,
            BytesHmac | Crypt | CryptSalt | RandomBytes | BytesEncrypt | BytesDecrypt | Armor | Dearmor
            | UuidOfName | UuidOfTime | JsonbPut | ArrayTrim | ArrayBucket | ConvertTo | ConvertFrom
            | BytesDigest | InetText | InetOf | InetMaskLength | InetFamily | InetSetMask
            | InetSameFamily | InetMerge | InetWithin | InetStrictlyWithin | InetOverlaps | InetNot
            | InetAnd | InetOr | InetAdd | InetSub | InetDistance | MacNot | MacAnd | MacOr | MacTrunc
            | MacSetBit7 | BitsLength | BitsOctets | BitsCount | BitsSubstr | BitsSubstrFor
            | BitsPosition | BitsGet | BitsSet | BitsOverlay | BitsOverlayFor | BitsAnd | BitsOr
            | BitsXor | BitsNot | BitsShl | BitsShr | BitsConcat | BitsFold | MoneyAdd | MoneySub
            | MoneyMul | MoneyDiv | MoneyMulInt | MoneyDivInt | MoneyRatio => Determinism::Deterministic,
            // Which configuration it is comes as an argument; there are none but those of the release.
            VectorMake | VectorOfJson | QueryMake | VectorMatches | Headline | VectorLength | VectorStrip
            | VectorSetWeight | VectorSetWeightOf | VectorConcat | VectorDelete | VectorDeleteAll
            | VectorFilter | VectorOfArray | VectorLexemes | VectorPositions | VectorWeights | QueryAnd
            | QueryOr | QueryNot | QueryPhrase | QueryNodes | QueryTree | QueryContains => {
                Determinism::Deterministic
            }
            // In UTC. Where the session has another time zone, the transaction is logged by rows: that is noted while it
            // runs, because it is rare, and another one runs the same program in UTC.
            JsonPathExistsTz | JsonPathMatchTz | JsonPathValuesTz | JsonPathArrayTz | JsonPathFirstTz
            | ExtractTz | TruncTz | ToCharTz | ToTimestamp | TzAddInterval | TzSubInterval | TzAge => {
                Determinism::Deterministic
            }
            // The rules of zones are those of the release.
            ZoneLocal | ZoneTz | ZoneTrunc | TimeTzInZone => Determinism::Machine,
            ExtractTimeTz | TimeTzAddInterval | TimeTzSubInterval | DateAddTimeTz | TimeTzShift => {
                Determinism::Deterministic
            }
            TimeAddInterval | TimeSubInterval | TimeSub | DateAddTime | MakeTime | ExtractTime => {
                Determinism::Deterministic
            }
            DateAddInt | DateSubInt | DateSub | DateToTimestamp | TimestampToDate | TimestampAddInterval
            | TimestampSubInterval | TimestampSub | TimestampAge | DateBin | Overlaps | IntervalEq
            | IntervalNe | IntervalLt | IntervalLe | IntervalGt | IntervalGe | JustifyHours | JustifyDays
            | JustifyInterval | MakeInterval | IntervalTrunc | IntervalAdd | IntervalSub | IntervalNeg
            | IntervalMul | IntervalDiv | ExtractTimestamp | ExtractUnzoned | ExtractUntimed
            | ExtractDate | ExtractInterval | DateTrunc | ToCharTimestamp | ToCharNumeric
            | ToCharInterval | ToCharFloat | ToCharReal | ToCharInt | ToDate | ToNumber | MakeDate
            | MakeTimestamp | ToTimestampFloat => Determinism::Deterministic,
            ArrayMake | RowMake | ArrayGet | ArraySlice | ArrayLength | Cardinality | ArrayLower
            | ArrayUpper | ArrayAppend | ArrayPrepend | ArrayConcat | ArrayContainsElement
            | ArrayPosition | ArrayRemove | ArrayPositions | ArrayPut | ArrayReplace | ArrayEq | ArrayNe
            | ArrayToString | ArrayToStringOr | StringToArray | ArrayContains | ArrayOverlaps
            | ArrayCompare | ArrayStore | ArrayLoad | ArrayNest | ArrayStack | ArrayNth | ArrayParts
            | ArrayAt | ArrayDims | ArrayNdims | ArrayFill | ArrayFillFrom | ArrayPositionFrom
            | ArrayPutAt | ArrayPutSlice => Determinism::Deterministic,
            NumSpread | FltSpread | Regression | BitFold | PercentileDisc | PercentileCont
            | PercentileInterval | PercentileDiscs | PercentileConts | ModeOf => Determinism::Deterministic,
            Greatest | Least | Min | Max | Compare | Hash | PgColumnSize => Determinism::Deterministic,
        }
    }
}

impl Question {
    /// The level of its answer.
    pub const fn determinism(self) -> Determinism {
        use Question::*;
        match self {
            RegIn | RegFind | RegOut | FormatType | IndexDef | StatisticsDef | ConstraintDef | TriggerDef
            | RoutineDef | RoutineBody | RoutineArguments | RoutineIdentity | RoutineResult
            | ArgumentDefault | ViewDef | PlainExpression | PartitionDef | PartitionTree | Updatable
            | RuleDef | IsVisible | Comment | Describe | RoleName | SerialSequence => Determinism::Catalog,
            Notify | ListeningChannels | NotificationUsage | TriggerDepth | CallStack | DeferTrigger
            | HasPrivilege | HasRole | RelationSize | DatabaseSize | SetSetting | SetSettingOfDefiner
            | CancelClient | TerminateClient | ReloadSettings | ForgetStatements | SettingsTime
            | ExportSnapshot | Sleep | SetSeed | SessionId | User | StartTime => Determinism::Session,
            AdvisoryLock | TryAdvisoryLock | AdvisoryUnlock | AdvisoryUnlockAll | BlockingSessions
            | IsBlockedBy => Determinism::Others,
            // Logged with the call.
            Setting => Determinism::Draws,
            // As it always answers the same in a call.
            DeferTriggerInBlock | DeferCheckInBlock => Determinism::Deterministic,
            // Nobody sees it who does not ask for the depth.
            DeeperTrigger => Determinism::Deterministic,
        }
    }

    /// What it answers in every call that is a whole transaction, as those that are logged as calls are; `None`: that
    /// depends.
    pub const fn in_a_call(self) -> Option<bool> {
        match self {
            Question::DeferTriggerInBlock | Question::DeferCheckInBlock => Some(false),
            // One that is logged as a call does not ask for the depth.
            Question::DeeperTrigger => Some(false),
            _ => None,
        }
    }

    /// Whether the answer is an input of a call, which is logged with it and handed out again.
    pub const fn is_input(self) -> bool {
        matches!(self, Question::Setting)
    }

    /// Whether asking does something: then it may neither be left out nor be asked once for all.
    pub const fn acts(self) -> bool {
        self.locks()
            || matches!(
                self,
                Question::SetSetting
                    | Question::SetSettingOfDefiner
                    | Question::CancelClient
                    | Question::TerminateClient
                    | Question::ReloadSettings
                    | Question::ForgetStatements
                    | Question::Sleep
                    | Question::SetSeed
                    | Question::ExportSnapshot
                    | Question::Notify
                    | Question::DeferTrigger
                    | Question::DeferTriggerInBlock
                    | Question::DeeperTrigger
            )
    }

    /// Whether asking locks something, or lets go of it.
    pub const fn locks(self) -> bool {
        matches!(
            self,
            Question::AdvisoryLock
                | Question::TryAdvisoryLock
                | Question::AdvisoryUnlock
                | Question::AdvisoryUnlockAll
        )
    }
}

impl Draw {
    /// Its level.
    pub const fn determinism(self) -> Determinism {
        match self {
            Draw::TransactionTimestamp
            | Draw::StatementTimestamp
            | Draw::ClockTimestamp
            | Draw::Random
            | Draw::Uuid
            | Draw::TransactionId
            | Draw::LastValue
            | Draw::CurrentUser
            | Draw::SessionUser
            | Draw::Setting
            | Draw::RowSecurity(_)
            | Draw::ActsAs(_)
            | Draw::RowSecurityOff
            | Draw::Kept => Determinism::Draws,
            Draw::CurrentDatabase | Draw::Permitted(_) => Determinism::Session,
        }
    }

    /// Whether it is a name: a text, where the others are values that lie in no heap.
    pub const fn is_name(self) -> bool {
        matches!(self, Draw::CurrentUser | Draw::SessionUser | Draw::CurrentDatabase)
    }

    /// Whether it comes from the log alone, into the heap: no program asks for it that runs for the first time.
    pub const fn is_logged(self) -> bool {
        matches!(self, Draw::Kept | Draw::Setting)
    }

    /// Whether it is the same throughout a statement.
    pub const fn is_stable(self) -> bool {
        match self {
            Draw::TransactionTimestamp
            | Draw::StatementTimestamp
            | Draw::TransactionId
            | Draw::CurrentUser
            | Draw::SessionUser
            | Draw::Setting
            | Draw::CurrentDatabase
            | Draw::Permitted(_)
            | Draw::RowSecurity(_)
            | Draw::ActsAs(_)
            | Draw::RowSecurityOff => true,
            Draw::ClockTimestamp | Draw::Random | Draw::Uuid | Draw::LastValue | Draw::Kept => false,
        }
    }
}

/// What an operation depends on by itself, blocks inside it aside.
enum Own {
    Level(Determinism),
    /// On what it calls.
    Callee(ProcedureId),
}

impl OpKind {
    /// Its level, without that of what it calls.
    pub fn level(&self) -> Determinism {
        match self.determinism() {
            Own::Level(level) => level,
            Own::Callee(_) => Determinism::Deterministic,
        }
    }

    fn determinism(&self) -> Own {
        use Determinism::{Catalog, Constraints, Deterministic, Draws, Others, Session, Text, Transactions};
        Own::Level(match self {
            OpKind::EndTransaction { .. } => Transactions,
            OpKind::Apply { func, .. } => func.determinism(),
            OpKind::Draw { input, .. } => input.determinism(),
            OpKind::Ask { question, .. } => question.determinism(),
            OpKind::SystemRows { .. } => Catalog,
            OpKind::NextValue { .. } | OpKind::CurrentValue { .. } => Draws,
            // The session's cursors, for rows that are there already.
            OpKind::Execute {
                run: Run::Open { columns: Some(_), .. } | Run::Fetch(_) | Run::Close, ..
            } => Session,
            OpKind::Execute { run: Run::Constraints, .. } => Constraints,
            OpKind::Execute { .. } => Text,
            OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                return Own::Callee(*procedure);
            }
            OpKind::Claim { if_claimed: IfClaimed::Refuse | IfClaimed::Skip, .. } => Others,
            OpKind::Claim { if_claimed: IfClaimed::Wait, .. } => Deterministic,
            // A cast asks nothing of the session, in UTC and in the default styles of dates: where it has others, that is
            // noted while it runs. The forms of floats and bytea are fixed.
            OpKind::Const { .. }
            | OpKind::Copy { .. }
            | OpKind::Cast { .. }
            | OpKind::SetValue { .. }
            | OpKind::ArraySet { .. }
            | OpKind::If { .. }
            | OpKind::Loop { .. }
            | OpKind::Block { .. }
            | OpKind::Exit { .. }
            | OpKind::Continue { .. }
            | OpKind::Return
            | OpKind::Try { .. }
            | OpKind::Raise { .. }
            | OpKind::Notify { .. }
            | OpKind::Emit { .. }
            | OpKind::Keep { .. }
            | OpKind::Piece { .. }
            | OpKind::Get { .. }
            | OpKind::Scan { .. }
            | OpKind::Load { .. }
            | OpKind::Insert { .. }
            | OpKind::Update { .. }
            | OpKind::Delete { .. }
            | OpKind::Clear { .. }
            | OpKind::Push { .. }
            | OpKind::Fill { .. }
            | OpKind::Len { .. }
            | OpKind::Sort { .. }
            | OpKind::Trim { .. }
            | OpKind::MapGet { .. }
            | OpKind::MapPut { .. }
            | OpKind::ForEach { .. }
            | OpKind::ForMatches { .. }
            | OpKind::SetEntry { .. } => Deterministic,
        })
    }
}

impl Program {
    /// Its level: of all that is in it, and of all that it calls. `of_callee` answers for what is called.
    pub fn determinism(&self, of_callee: &mut dyn FnMut(ProcedureId) -> Determinism) -> Determinism {
        let mut level = Determinism::Deterministic;
        self.body.visit(&mut |op| {
            level = level.join(match op.kind.determinism() {
                Own::Level(level) => level,
                Own::Callee(procedure) => of_callee(procedure),
            });
        });
        level
    }

    /// Whether it looks at the time zone of the session by itself: [`Func::reads_zone`], and casts between what has a zone
    /// and what has none.
    pub fn reads_zone(&self) -> bool {
        let mut found = false;
        self.body.visit(&mut |op| {
            found |= match &op.kind {
                OpKind::Apply { func, .. } => func.reads_zone(),
                OpKind::Cast { dst, src, .. } => match (self.type_of(*src), self.type_of(*dst)) {
                    (Some(from), Some(to)) => from.base() != to.base() && (from.has_zone() || to.has_zone()),
                    _ => false,
                },
                _ => false,
            };
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, OpId, ProgramKind, Reg};

    #[test]
    fn join_is_that_of_a_lattice() {
        let all = Determinism::ALL;
        assert!(all.is_sorted_by(|a, b| a < b), "each level is above the one before it");
        for a in all {
            assert_eq!(a.join(a), a);
            assert_eq!(a.join(Determinism::Deterministic), a, "the lowest adds nothing");
            assert_eq!(a.join(Determinism::Transactions), Determinism::Transactions, "the highest is all");
            for b in all {
                assert_eq!(a.join(b), b.join(a));
                assert!(a.join(b) >= a);
                for c in all {
                    assert_eq!(a.join(b).join(c), a.join(b.join(c)));
                    // What is above something that no call says is not said either.
                    assert!(!a.join(b).is_in_a_call() || a.is_in_a_call() && b.is_in_a_call());
                }
            }
            assert_eq!(a.reason().is_none(), a.is_in_a_call());
            assert!(!a.is_in_a_call() || a.was_in_a_call());
        }
    }

    #[test]
    fn everything_has_a_level_and_questions_are_in_no_call() {
        for func in Func::ALL {
            assert!(
                func.determinism() <= Determinism::Machine,
                "{func}: functions know their arguments alone"
            );
        }
        for question in Question::ALL.iter().filter(|q| q.in_a_call().is_none() && !q.is_input()) {
            assert!(question.determinism() >= Determinism::Catalog, "{question:?}");
            assert!(!question.acts() || question.determinism() >= Determinism::Session, "{question:?}");
        }
    }

    fn program(kinds: Vec<OpKind>) -> Program {
        let mut program = Program::new("p", ProgramKind::Procedure);
        program.body.0 = kinds.into_iter().map(|kind| Op { id: OpId(0), position: 0, kind }).collect();
        program
    }

    #[test]
    fn the_level_of_a_program_is_that_of_its_highest_part_wherever_it_stands() {
        let dst = Reg(0);
        let draw = |input| OpKind::Draw { dst, input };
        let call = OpKind::Call { procedure: ProcedureId(3), args: Vec::new(), outs: Vec::new() };
        let mut none = |_| Determinism::Deterministic;
        assert_eq!(program(vec![OpKind::Return]).determinism(&mut none), Determinism::Deterministic);
        assert_eq!(program(vec![draw(Draw::Random)]).determinism(&mut none), Determinism::Draws);
        let inside = program(vec![draw(Draw::CurrentDatabase), OpKind::Return]).body;
        let nested = vec![OpKind::If { cond: dst, then: Default::default(), otherwise: inside }];
        assert_eq!(program(nested).determinism(&mut none), Determinism::Session);
        for level in Determinism::ALL {
            let both = program(vec![draw(Draw::Uuid), call.clone()]);
            let mut of_callee = |id| {
                assert_eq!(id, ProcedureId(3));
                level
            };
            assert_eq!(both.determinism(&mut of_callee), level.join(Determinism::Draws));
        }
    }
}
