"""Declare exercises. Everything that an exercise needs is imported from here.

Declare an exercise

- `Exercise`: checks, and the exercise's kinds, harmless mistakes, ban and library equivalent
- `Check`: one line of the rubric: title, weight and check function
- `CheckFunction`: the type of a check function, which takes a `Student` and raises `Wrong`
- `Ban`: the functions of torch that an exercise must not use
- `Course`: the facts about a course that the engine needs
- `Student`: the student's work, whose functions a check calls
- `Kept`: a handle for an object that stays in the student's process
- `Reply`: the type of a reply to a request
- `Wrong`: raised by a check: the sentence that a student reads
- `ValuesDiffer`: raised where only values differ
- `Problem`: raised where the student's code returned nothing
- `Call`: a call of a student's function, with the function that gives the expected result
- `reference`: return the reference of an exercise
- `provided`: return what a notebook's locked cells define by a name
- `provided_code_in`: return the source that locked cells provide to answers
- `sentence_of`: return the sentence about a mistake of an exercise

Cases: a function compared with the reference

- `cases_of`: make a check of a generator of cases
- `Cases`: the type that such a generator yields
- `DependentCase`: the type of a case that tests more than the value
- `FunctionUnderTest`: a student's function, with the expected result and the comparison
- `behaves`: a repeated call returns the same, and leaves inputs alone
- `gradients`: the inputs' gradients agree
- `device`: results are on the device of the inputs
- `slices`: slices of larger tensors give the same
- `refuses`: bad input raises a ValueError
- `valid`: input that is not refused gives the right result
- `accepted`: make a case one of input that is not refused
- `only_values`: in a block, raise whatever is wrong as a difference in values
- `trained`: the weight is a parameter that is being trained
- `each`: make a check of a function that tests one case
- `gives_float`: the result is a float, and agrees
- `call_probe`: call a function of the judge in the student's process
- `refusing`: make a function that raises an exercise's own sentence for a mistake
- `differ`: raise `ValuesDiffer` if something is wrong
- `from_the_generator_alone`: what is drawn depends on the generator, and goes on from its state

Compare

- `same_tensor`: type, shape, device, dtype and values agree
- `same_gradients`: gradients agree
- `same_output`: the output is one tensor, and agrees
- `same_count`: a number of parameters agrees
- `a_tensor`: the result is a tensor
- `a_pair`: the result is a tuple of two
- `an_int`: the result is an int
- `a_number`: return a number, however it is wrapped
- `of_shape`: the result is a tensor of this shape
- `ids_of_shape`: the result holds ids, in this shape
- `same_values`: values agree, whatever dtype holds them
- `unchanged`: what was passed in has kept its values
- `close`: return whether two tensors agree up to rounding
- `kind`: describe the type of a value
- `dtype_name`: return the name of a tensor's dtype
- `shape_name`: return a tensor's shape as text
- `shape_of`: return a tensor's shape, or ()
- `raises_error`: calls with bad input end in this error
- `gradients_agree`: a function's gradients agree with the reference's
- `gradients_of`: return the reference's gradients, and random upstream tensors
- `generator_unchanged`: a call leaves the global generator alone
- `parameters_unchanged`: a call leaves a module's parameters alone
- `device_is_kept`: inputs on a GPU give results on it
- `devices_differ`: return whether an error is about tensors on different devices
- `note_rounded`: record a float rounded to five digits
- `outline`: record which parameters a module has

Modules: a student's `nn.Module` with known weights

- `KnownModule`: a module that is built, loaded and compared with a formula, its gradients too
- `Weights`: the type of weights, or gradients, by name
- `ParameterMap`: the type of how each of a module's parameters is made of the weights
- `has_layers`: a module has these layers, and no other parameters
- `starts_as_linear`: layers start as `nn.Linear` does
- `no_other_parameters`: a module has no parameters but those expected

Inputs

- `normal`: return normally distributed numbers
- `future`: return the causal mask
- `some_mask`: return a random mask that never blocks a whole row
- `sliced`: return a handle for a tensor as a slice of a larger one
- `their_generator`: return a handle for a generator in the student's process
- `source_of`: return the source of a probe
- `define_in_judge`: define a probe in the judge's own process
- `drawn`: return a known input, or one drawn for a submission
- `other_sizes`: draw other sizes
- `other_lengths`: draw other lengths of rows
- `other_ids`: draw other ids
- `other_counts`: draw other counts
- `other_number`: draw another number
- `other_letters`: draw other letters of the same script
- `other_words`: draw other words of a text
- `shuffled`: draw another order
- `replaced`: return a nested value with everything of one type replaced

Catalogue of mistakes

- `Minor`: a mistake of somebody who has understood
- `Misconception`: a mistake, with its sentence and edits
- `Fundamental`: a mistake that misses the point of the exercise
- `RightAnswer`: a right answer in another style

A name is loaded when it is first used, because many commands need exercises but no torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

# Where names are looked up: the modules that import no torch come first, and the first that has a name defines it.
MODULES = ("exercise", "student", "seeds", "course", "drawing", "catalogue", "compare", "inputs", "modules", "cases")

if TYPE_CHECKING:
    from .cases import Cases as Cases
    from .cases import DependentCase as DependentCase
    from .cases import FunctionUnderTest as FunctionUnderTest
    from .cases import accepted as accepted
    from .cases import behaves as behaves
    from .cases import call_probe as call_probe
    from .cases import cases_of as cases_of
    from .cases import device as device
    from .cases import differ as differ
    from .cases import each as each
    from .cases import from_the_generator_alone as from_the_generator_alone
    from .cases import gives_float as gives_float
    from .cases import gradients as gradients
    from .cases import only_values as only_values
    from .cases import refuses as refuses
    from .cases import refusing as refusing
    from .cases import slices as slices
    from .cases import trained as trained
    from .cases import valid as valid
    from .catalogue import Fundamental as Fundamental
    from .catalogue import Minor as Minor
    from .catalogue import Misconception as Misconception
    from .catalogue import RightAnswer as RightAnswer
    from .compare import a_number as a_number
    from .compare import a_pair as a_pair
    from .compare import a_tensor as a_tensor
    from .compare import an_int as an_int
    from .compare import close as close
    from .compare import dtype_name as dtype_name
    from .compare import ids_of_shape as ids_of_shape
    from .compare import kind as kind
    from .compare import of_shape as of_shape
    from .compare import same_count as same_count
    from .compare import same_gradients as same_gradients
    from .compare import same_output as same_output
    from .compare import same_tensor as same_tensor
    from .compare import same_values as same_values
    from .compare import shape_name as shape_name
    from .compare import shape_of as shape_of
    from .compare import unchanged as unchanged
    from .course import Course as Course
    from .course import provided as provided
    from .course import provided_code_in as provided_code_in
    from .course import reference as reference
    from .course import sentence_of as sentence_of
    from .drawing import other_counts as other_counts
    from .drawing import other_ids as other_ids
    from .drawing import other_lengths as other_lengths
    from .drawing import other_letters as other_letters
    from .drawing import other_number as other_number
    from .drawing import other_sizes as other_sizes
    from .drawing import other_words as other_words
    from .drawing import replaced as replaced
    from .drawing import shuffled as shuffled
    from .exercise import Ban as Ban
    from .exercise import Call as Call
    from .exercise import Check as Check
    from .exercise import CheckFunction as CheckFunction
    from .exercise import Exercise as Exercise
    from .exercise import Problem as Problem
    from .exercise import ValuesDiffer as ValuesDiffer
    from .exercise import Wrong as Wrong
    from .inputs import define_in_judge as define_in_judge
    from .inputs import device_is_kept as device_is_kept
    from .inputs import devices_differ as devices_differ
    from .inputs import future as future
    from .inputs import generator_unchanged as generator_unchanged
    from .inputs import gradients_agree as gradients_agree
    from .inputs import gradients_of as gradients_of
    from .inputs import normal as normal
    from .inputs import note_rounded as note_rounded
    from .inputs import outline as outline
    from .inputs import parameters_unchanged as parameters_unchanged
    from .inputs import raises_error as raises_error
    from .inputs import sliced as sliced
    from .inputs import some_mask as some_mask
    from .inputs import source_of as source_of
    from .inputs import their_generator as their_generator
    from .modules import KnownModule as KnownModule
    from .modules import ParameterMap as ParameterMap
    from .modules import Weights as Weights
    from .modules import has_layers as has_layers
    from .modules import no_other_parameters as no_other_parameters
    from .modules import starts_as_linear as starts_as_linear
    from .seeds import drawn as drawn
    from .student import Kept as Kept
    from .student import Reply as Reply
    from .student import Student as Student
else:

    def __getattr__(name: str) -> Any:
        """Import the module that defines a name of `__all__`, and return what it defines."""
        for module in MODULES if name in __all__ else ():
            found = importlib.import_module(f"{__name__}.{module}")
            if hasattr(found, name):
                return globals().setdefault(name, getattr(found, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Ban",
    "Call",
    "Cases",
    "Check",
    "CheckFunction",
    "Course",
    "DependentCase",
    "Exercise",
    "FunctionUnderTest",
    "Fundamental",
    "Kept",
    "KnownModule",
    "Minor",
    "Misconception",
    "ParameterMap",
    "Problem",
    "Reply",
    "RightAnswer",
    "Student",
    "ValuesDiffer",
    "Weights",
    "Wrong",
    "a_number",
    "a_pair",
    "a_tensor",
    "accepted",
    "an_int",
    "behaves",
    "call_probe",
    "cases_of",
    "close",
    "define_in_judge",
    "device",
    "device_is_kept",
    "devices_differ",
    "differ",
    "drawn",
    "dtype_name",
    "each",
    "from_the_generator_alone",
    "future",
    "generator_unchanged",
    "gives_float",
    "gradients",
    "gradients_agree",
    "gradients_of",
    "has_layers",
    "ids_of_shape",
    "kind",
    "no_other_parameters",
    "normal",
    "note_rounded",
    "of_shape",
    "only_values",
    "other_counts",
    "other_ids",
    "other_lengths",
    "other_letters",
    "other_number",
    "other_sizes",
    "other_words",
    "outline",
    "parameters_unchanged",
    "provided",
    "provided_code_in",
    "raises_error",
    "reference",
    "refuses",
    "refusing",
    "replaced",
    "same_count",
    "same_gradients",
    "same_output",
    "same_tensor",
    "same_values",
    "sentence_of",
    "shape_name",
    "shape_of",
    "shuffled",
    "sliced",
    "slices",
    "some_mask",
    "source_of",
    "starts_as_linear",
    "their_generator",
    "trained",
    "unchanged",
    "valid",
]
