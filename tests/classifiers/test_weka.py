"""Distributions of Weka 3.6.14, recorded: one number for each class, for a few of the training rows.

Where Weka differs:

- AODE of Weka estimates P(c, xi) by Laplace's correction of the joint table, as ours does unless ``joint=False``.
- AODEsr takes a value for implied by more than its critical number of rows (option C), ours by at least
  ``subsumption_rows``. Its default estimate is the m-estimate; Laplace's is option L.
- WAODE adds 1 / (K Ni) and 1 / Nj to counts, where ours adds the pseudocount. Both are the same for many rows.
- TAN takes another default score; with ENTROPY it is ours with ``pseudocount=0.5``, its estimator's default, once the
  root is the same.
- Weka knows a value only if the file's header declares it, so there are no unseen ones.

In rows with missing cells, in training and in prediction, all agree: pairs are counted where both are known, in the
denominators too, and a missing feature is no super-parent.
"""

from __future__ import annotations

import numpy as np
import pytest

from pgm import AODEClassifier, NaiveBayesClassifier, TANClassifier
from tests.classifiers.tables import car

# A digit for each of the features a to e, then the class; d is b // 2, and e is 2 where d is 1.
COMPLETE = """
031122 023120 130120 212011 223121 211001 110010 201001 100011 130121 210002 032122 010002 002012 013002
013010 223122 222121 023120 012010 012000 023122 221122 210012 003010 130121 122121 031122 030120 131121
233121 220122 113011 200011 200011 131121 011010 102000 103010 111010 230122 210011 002010 123121 002000
110001 003002 000000 213001 103011 231122 222121 131120 110000 221121 120121 111010 122121 121121 132120
"""

HOLES = """
0311?2 023120 130120 212011 22?121 ?11001 1100?0 2010?1 100011 130121 210002 032122 0100?2 002012 013002
?13010 223122 ?22121 ?23120 012010 01?000 023122 221122 210012 003010 ?30121 1221?1 0311?2 030120 131121
233121 220122 1130?1 200011 20?011 13?121 011010 ?0?000 10?010 1110?0 230122 210011 00?010 123121 002000
110001 003002 000000 2130?1 1030?1 231122 222121 131120 110000 221121 120121 ?11010 12?121 121121 132120
"""

SHOWN = [0, 7, 21, 35, 49]


def read(text, copies=1):
    columns = [list(column) * copies for column in zip(*text.split(), strict=True)]
    cells = [[None if value == "?" else value for value in column] for column in columns]
    return dict(zip("abcde", cells, strict=False)), cells[-1]


RECORDED = [
    (  # NaiveBayes
        NaiveBayesClassifier(),
        COMPLETE,
        [
            [0.166179651490211, 0.0498048211036918, 0.784015527406097],
            [0.107835468056427, 0.522846293826069, 0.369318238117504],
            [0.139776679787227, 0.0969715894153663, 0.763251730797406],
            [0.150058011509804, 0.755547911573745, 0.0943940769164506],
            [0.699024582664231, 0.291997763742636, 0.00897765359313255],
        ],
    ),
    (  # AODE
        AODEClassifier(),
        COMPLETE,
        [
            [0.190582048607159, 0.0962429729817718, 0.713174978411069],
            [0.107793648030471, 0.765841360525629, 0.1263649914439],
            [0.39794539190334, 0.14248829049096, 0.459566317605701],
            [0.231821463997304, 0.625897944640749, 0.142280591361947],
            [0.504066336715587, 0.440543113126386, 0.055390550158027],
        ],
    ),
    (  # AODE -F 22
        AODEClassifier(min_rows=22),
        COMPLETE,
        [
            [0.263395489464471, 0.0762094360177934, 0.660395074517736],
            [0.102830229689156, 0.748580088410014, 0.14858968190083],
            [0.354414665359107, 0.151917682127011, 0.493667652513882],
            [0.225574439180151, 0.677923751673204, 0.0965018091466448],
            [0.54240074160103, 0.412898191640949, 0.0447010667580202],
        ],
    ),
    (  # AODEsr -L -C 12
        AODEClassifier(selection="subsumption", subsumption_rows=13),
        COMPLETE,
        [
            [0.200498898966313, 0.1173919015317, 0.682109199501987],
            [0.0933667599189432, 0.762527056344917, 0.14410618373614],
            [0.532566750400673, 0.0875825499846551, 0.379850699614672],
            [0.379562390293621, 0.501738973228498, 0.118698636477881],
            [0.474642732872997, 0.457122626484241, 0.0682346406427615],
        ],
    ),
    (  # AODEsr -L -C 13
        AODEClassifier(selection="subsumption", subsumption_rows=14),
        COMPLETE,
        [
            [0.200498898966313, 0.1173919015317, 0.682109199501987],
            [0.107793648030471, 0.765841360525629, 0.1263649914439],
            [0.532566750400673, 0.0875825499846551, 0.379850699614672],
            [0.379562390293621, 0.501738973228498, 0.118698636477881],
            [0.474642732872997, 0.457122626484241, 0.0682346406427615],
        ],
    ),
    (  # NaiveBayes
        NaiveBayesClassifier(),
        HOLES,
        [
            [0.303792599640035, 0.0475841914741338, 0.648623208885831],
            [0.128061395126873, 0.588389820223446, 0.283548784649682],
            [0.152924980634171, 0.121501850366313, 0.725573168999516],
            [0.158923329981415, 0.769443521202632, 0.0716331488159529],
            [0.583654365266786, 0.396153356333892, 0.0201922783993227],
        ],
    ),
    (  # AODE
        AODEClassifier(),
        HOLES,
        [
            [0.17793960047458, 0.0943306407763366, 0.727729758749084],
            [0.131626517998589, 0.764770162599327, 0.103603319402084],
            [0.384802478303768, 0.147124832311948, 0.468072689384285],
            [0.344826652225677, 0.588156181531302, 0.0670171662430206],
            [0.351519096284688, 0.538352376121044, 0.110128527594268],
        ],
    ),
    (  # AODE -F 18
        AODEClassifier(min_rows=18),
        HOLES,
        [
            [0.240597482618619, 0.0814721634264106, 0.67793035395497],
            [0.160248508456191, 0.745525368571569, 0.09422612297224],
            [0.339503034911674, 0.176434933949744, 0.484062031138583],
            [0.328313377771649, 0.615721721903588, 0.0559649003247626],
            [0.372874653411633, 0.554808102682377, 0.0723172439059901],
        ],
    ),
    (  # AODEsr -L -C 12
        AODEClassifier(selection="subsumption", subsumption_rows=13),
        HOLES,
        [
            [0.227347684953216, 0.0990117855540497, 0.673640529492735],
            [0.0967997466798348, 0.708942168523754, 0.194258084796411],
            [0.425918305712503, 0.124621238657907, 0.44946045562959],
            [0.382107134086443, 0.555889799100098, 0.0620030668134591],
            [0.268037604903292, 0.59839747803697, 0.133564917059739],
        ],
    ),
]


@pytest.mark.parametrize(("model", "rows", "expected"), RECORDED)
def test_distributions(model, rows, expected):
    X, y = read(rows)
    assert model.fit(X, y).predict_proba(X)[SHOWN] == pytest.approx(np.array(expected), abs=1e-13)


@pytest.mark.parametrize(("model", "rows", "expected"), [line for line in RECORDED if "Naive" in repr(line[0])])
def test_without_frequent_super_parents_weka_decides_as_naive_bayes_too(model, rows, expected):  # AODE -F 1000
    X, y = read(rows)
    shown = AODEClassifier(min_rows=1000).fit(X, y).predict_proba(X)[SHOWN]
    assert shown == pytest.approx(np.array(expected), abs=1e-13)


def test_weights_by_information():  # WAODE
    expected = [
        [0.13922659143734, 1.731105568e-05, 0.86075609750698],
        [5.47937761e-06, 0.9999776825326, 1.683808979e-05],
        [0.60721735416976, 1.651324785e-05, 0.39276613258239],
        [0.24621545877651, 0.75376133277963, 2.320844386e-05],
        [0.54727349998508, 0.45270857566599, 1.792434893e-05],
    ]
    X, y = read(COMPLETE, copies=2000)
    model = AODEClassifier(weights="information").fit(X, y)
    shown = {name: [column[row] for row in SHOWN] for name, column in X.items()}
    assert model.predict_proba(shown) == pytest.approx(np.array(expected), abs=3e-4)
    assert AODEClassifier().fit(X, y).predict_proba(shown) != pytest.approx(np.array(expected), abs=1e-2)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            AODEClassifier(),
            [
                [0.0003890683022872242, 0.0008837712524438666, 0.9976562854645812, 0.001070874980687814],
                [0.20275760094695192, 0.002967459227967711, 0.792589576216057, 0.0016853636090234478],
                [0.0006158345208213897, 0.001099167537919358, 0.9974060020790637, 0.0008789958621954046],
                [0.16615285225184406, 0.14683906781059738, 0.10185520795558839, 0.5851528719819701],
            ],
        ),
        (
            TANClassifier(pseudocount=0.5, root="persons"),
            [
                [1.0091712511100429e-05, 0.0003876882224120487, 0.9989658549336253, 0.0006363651314513603],
                [0.020011806766154515, 0.01765935849868338, 0.9620787137567355, 0.0002501209784265179],
                [0.001287618256482965, 0.000958850018400561, 0.9967955115655516, 0.0009580201595649231],
                [0.10533578721118313, 0.0111287681575281, 0.13240597178242558, 0.7511294728488632],
            ],
        ),
    ],
)
def test_car(model, expected):
    X, y = car()
    assert model.fit(X, y).predict_proba(X)[[0, 11, 600, 1727]] == pytest.approx(np.array(expected), abs=1e-13)
