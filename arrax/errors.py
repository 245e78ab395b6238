"""The documented exceptions (public names of ``arrax.core.errors``)."""

from arrax.core.checking import JaxprTypeError as JaxprTypeError
from arrax.core.errors import ConcretizationTypeError as ConcretizationTypeError
from arrax.core.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from arrax.core.errors import JAXIndexError as JAXIndexError
from arrax.core.errors import JaxRuntimeError as JaxRuntimeError
from arrax.core.errors import JaxStackTraceBeforeTransformation as JaxStackTraceBeforeTransformation
from arrax.core.errors import JAXTypeError as JAXTypeError
from arrax.core.errors import KeyReuseError as KeyReuseError
from arrax.core.errors import LeakedTrace as LeakedTrace
from arrax.core.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from arrax.core.errors import TracerArrayConversionError as TracerArrayConversionError
from arrax.core.errors import TracerBoolConversionError as TracerBoolConversionError
from arrax.core.errors import TracerIntegerConversionError as TracerIntegerConversionError
from arrax.core.errors import UnexpectedTracerError as UnexpectedTracerError
